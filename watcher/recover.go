package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// recover settles what an earlier watcher left: its sandboxes are removed, its runs in flight are answered as lost, what
// it had ended without answering is answered. What only waited is taken up again by the first listing.
func (w *Watcher) recover(ctx context.Context) error {
	for name, launcher := range w.config.Launchers {
		if err := w.removeAll(ctx, name, launcher); err != nil {
			return err
		}
	}
	unfinished, err := w.journal.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	for _, record := range unfinished {
		if err := w.settle(ctx, record); err != nil {
			return fmt.Errorf("recover run %s: %w", record.Key, err)
		}
	}
	return nil
}

func (w *Watcher) removeAll(ctx context.Context, name string, launcher sandbox.Launcher) error {
	handles, err := launcher.List(ctx)
	if err != nil {
		return fmt.Errorf("list the sandboxes of %s: %w", name, err)
	}
	for _, h := range handles {
		w.log.Info("removing a sandbox of an earlier watcher", "launcher", name, "sandbox", h.ID, "run", h.Key)
		if err := launcher.Remove(ctx, h); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			return fmt.Errorf("remove the sandbox %s: %w", h.ID, err)
		}
	}
	return nil
}

// settle brings one unfinished record to its end.
func (w *Watcher) settle(ctx context.Context, record journal.Run) error {
	box := w.boxNamed(record.Outbox)
	switch record.State {
	case delegation.StateQueued:
		if box != nil && box.stillThere(record.FileName, record.Stamp) {
			return nil // the listing takes it up
		}
		return w.journal.Move(ctx, record.Key, record.State, delegation.StateEnded, journal.Change{
			Reason: delegation.ReasonClientGone, Ended: time.Now(), Answered: true,
		})
	case delegation.StateEnded:
	default:
		err := w.journal.Move(ctx, record.Key, record.State, delegation.StateEnded, journal.Change{
			Reason: delegation.ReasonLost, Ended: time.Now(), Code: delegation.CodeLost,
			Text: "The run was interrupted by a restart of the watcher.", Hint: "Ask again with a new request_id.",
		})
		if err != nil {
			return err
		}
	}
	return w.answerRecord(ctx, box, record.Key)
}

// answerRecord publishes the response of a run that ended under an earlier watcher.
func (w *Watcher) answerRecord(ctx context.Context, box *outbox, key string) error {
	record, err := w.journal.Get(ctx, key)
	if err != nil {
		return err
	}
	if name, ok := delegation.ResponseNameFor(recordID(record)); ok && box != nil {
		if err := box.respond(record.FileName, name, record.Stamp, responseOf(record)); err != nil {
			w.log.Error("a response cannot be written; it is tried again with each listing", "run", key, "error", err)
			return nil // whatever lies in its way is the client's, and must not keep the watcher from starting
		}
	}
	return w.journal.Answered(ctx, key)
}

func (w *Watcher) boxNamed(name string) *outbox {
	for _, box := range w.boxes {
		if box.name == name {
			return box
		}
	}
	return nil
}
