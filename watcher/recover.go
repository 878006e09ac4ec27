package watcher

import (
	"context"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/outbox"
)

// takeOver takes up the work that an earlier watcher left. The journal tells which runs there should be, each
// launcher's list tells which sandboxes exist, and the outbox tells which runs are still wanted:
//
//	the run ended, no response yet    the watcher writes the response
//	its outbox's name leads elsewhere all of it stays as it is, until the right directory is back
//	its sandbox was released, exists  the watcher adopts it: output goes on after the cursor, deadline and limits go on;
//	                                  if its request is gone, the watcher adopts it to end it
//	its sandbox was never released    the watcher removes it: nothing ran in it; the request is admitted again
//	its sandbox is on another site    the run is stranded: it waits for that site and keeps its workspace (I21)
//	its sandbox was released, is gone the run is lost, or attempted again if its profile says so
//	no sandbox was ever released      nothing was launched: the request is admitted again, if it is still there
//
// The watcher removes a sandbox that belongs to none of these. A sandbox that its launcher cannot examine counts as
// present: if its run was released, the watcher adopts the run; otherwise it leaves the sandbox alone. An adopted run
// takes the same road as a new request, without the steps that are already done.
//
// If the watcher is told to stop meanwhile, it first finishes this, within the time for stopping: otherwise a run that
// was not taken up would go on with no watcher to end it. If another watcher of this process follows, that one does the
// work and this one stops at once: its site may have been exchanged, and it might wait for the old one in vain.
func (w *Watcher) takeOver(ctx context.Context) error {
	ctx, cancel := outlive(ctx, w.recoveryBudget)
	defer cancel()
	err := outbox.Identify(ctx, w.journal, w.boxes, (*outbox.Outbox).Directory)
	close(w.looked)
	if err != nil {
		return err
	}
	return (&recovery{Watcher: w, bound: map[sandbox.SandboxID]bool{}, stuck: stuckOutboxes{}}).do(ctx)
}

// recovery is the part of takeOver after the outboxes are identified; it lives no longer than that. It owns the
// launchers' answers: which sandboxes exist, and on which sites.
type recovery struct {
	*Watcher
	left  remains                    // sandboxes that no settled record has claimed
	sites map[string]string          // by launcher: the id of its site
	bound map[sandbox.SandboxID]bool // the sandboxes of records that have not ended
	stuck stuckOutboxes
}

// do settles every unfinished record, then removes the sandboxes that belong to no record.
func (rec *recovery) do(ctx context.Context) (err error) {
	if rec.left, err = rec.listLeft(ctx); err != nil {
		return err
	}
	if rec.sites, err = rec.askSites(ctx); err != nil {
		return err
	}
	if err := rec.settleAll(ctx); err != nil {
		return err
	}
	rec.notes.Sweep(func(key string) bool { return rec.unfinished(ctx, key) })
	if rec.config.Sessions != nil {
		rec.config.Sessions.Sweep(func(id sandbox.SandboxID) bool { return rec.bound[id] })
	}
	for _, handles := range rec.left {
		for _, h := range handles {
			if h.State == sandbox.HandleUncertain {
				rec.log.Warn("a sandbox that belongs to no run cannot be looked at, and is left alone; the next start looks again",
					"launcher", h.Launcher, "sandbox", h.ID, "id", h.Sandbox)
				continue
			}
			rec.log.Info("removing a sandbox that belongs to no run", "launcher", h.Launcher, "sandbox", h.ID, "id", h.Sandbox)
			rec.runs.Removals.Later("", h)
		}
	}
	return nil
}

// settled bounds how many unfinished records are in memory at once.
const settled = 256

// settleAll settles every unfinished record, and takes each record's sandbox out of rec.left.
func (rec *recovery) settleAll(ctx context.Context) error {
	for after := int64(0); ; {
		unfinished, err := rec.journal.Unfinished(ctx, after, settled)
		if err != nil || len(unfinished) == 0 {
			return err
		}
		for _, record := range unfinished {
			if record.State != delegation.StateEnded {
				rec.bound[record.Sandbox] = true
			}
			handle, there := rec.left.take(record)
			if err := rec.settle(ctx, record, handle, there); err != nil {
				return fmt.Errorf("recover run %s: %w", record.Key, err)
			}
			after = record.Seq
		}
	}
}

// recoveryBudget returns how long a watcher may go on recovering after it was told to stop.
func (w *Watcher) recoveryBudget() time.Duration {
	if w.keep.Load() {
		return 0
	}
	return w.config.Shutdown.Budget
}

// outlive returns a context that ends budget() after ctx. It calls budget when ctx ends.
func outlive(ctx context.Context, budget func() time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(budget(), cancel) })
	return longer, func() { stop(); cancel() }
}

// listBudget bounds how long a launcher may take to answer about its sandboxes or its site.
const listBudget = time.Minute

// listLeft lists the sandboxes of all launchers.
func (rec *recovery) listLeft(ctx context.Context) (remains, error) {
	left := make(remains)
	for name, launcher := range rec.config.Launchers {
		handles, err := rec.list(ctx, name, launcher)
		if err != nil {
			return nil, fmt.Errorf("list the sandboxes of %s: %w", name, err)
		}
		left[name] = make(map[sandbox.SandboxID]sandbox.Handle)
		for _, h := range handles {
			h.Launcher = name // use the name that profiles use
			left[name][h.Sandbox] = h
		}
	}
	return left, nil
}

// list asks a launcher for its sandboxes until it answers: its site may have gone away since the launcher was opened.
func (rec *recovery) list(ctx context.Context, name string, launcher sandbox.Launcher) (handles []sandbox.Handle, err error) {
	err = rec.untilAvailable(ctx, "list the sandboxes of "+name, func(ctx context.Context) (err error) {
		handles, err = launcher.List(ctx)
		return err
	})
	return handles, err
}

// untilAvailable repeats ask until the launcher answers.
func (rec *recovery) untilAvailable(ctx context.Context, what string, ask func(context.Context) error) error {
	held := rec.notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		asking, cancel := context.WithTimeout(ctx, listBudget)
		err := ask(asking)
		cancel()
		if !sandbox.IsUnavailable(err) || ctx.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeLauncher, err)
		retry.Warn(rec.log, what, try, err)
		_ = retry.Pause(ctx, retry.Backoff(try))
	}
}

// settle decides what happens to one unfinished record: h is its sandbox, there whether it was found.
func (rec *recovery) settle(ctx context.Context, record journal.Run, h sandbox.Handle, there bool) error {
	if box := rec.boxAside(record.Outbox); box != nil {
		return rec.keepUnserved(ctx, box, record, h, there)
	}
	box := rec.boxOf(record.Outbox)
	if there && h.State == sandbox.HandleUncertain && (box == nil || record.Handle == nil || record.State == delegation.StateEnded) {
		return rec.settleUncertain(ctx, box, record, h)
	}
	switch {
	case record.State == delegation.StateEnded:
		if there {
			rec.runs.Removals.Later(record.Key, h)
		}
		return rec.respondToEnded(ctx, box, record, rec.stuck)
	case !there && rec.isElsewhere(record):
		return rec.strand(ctx, box, record)
	case box == nil:
		return rec.settleUnconfigured(ctx, record, h, there)
	case there && record.Handle != nil:
		return rec.adopt(ctx, box, record, h)
	case there:
		rec.runs.Removals.Later(record.Key, h)
	}
	_, reason := box.StillAsked(record)
	switch {
	case reason != "":
		return rec.endUnrequested(ctx, record, reason)
	case record.Handle == nil && record.Ending != nil:
		rec.runs.Removals.Release(record.Sandbox)
		return rec.end(ctx, box, record, record.Ending.Change()) // somebody ended it before anything was launched
	case record.Handle == nil:
		return nil // nothing was launched: the first listing admits it again
	}
	return rec.lose(ctx, box, record)
}

// settleUncertain settles a record whose sandbox cannot be examined, and leaves the sandbox alone. If the sandbox was
// released and its outbox is not served, the sandbox may run: its record waits for the next start.
func (rec *recovery) settleUncertain(ctx context.Context, box *outbox.Outbox, record journal.Run, h sandbox.Handle) error {
	rec.log.Warn("a sandbox cannot be looked at, and is left alone; the next start looks again",
		"outbox", record.Outbox, "run", record.Key, "sandbox", h.ID)
	switch {
	case record.State == delegation.StateEnded:
		return rec.respondToEnded(ctx, box, record, rec.stuck)
	case record.Handle == nil:
		return rec.settle(ctx, record, sandbox.Handle{}, false)
	}
	return nil
}

// endUnrequested ends a run that has no sandbox and no waiting client.
func (w *Watcher) endUnrequested(ctx context.Context, record journal.Run, reason delegation.Reason) error {
	w.runs.Removals.Release(record.Sandbox)
	crash.At("recover.gone")
	return w.journal.Move(ctx, record.Key, record.State, delegation.StateEnded, journal.Change{
		Reason: reason, Ended: time.Now(), Answered: true,
	})
}

// settleUnconfigured ends a run of an outbox that is no longer in the configuration, as soon as nothing runs in its
// sandbox.
func (rec *recovery) settleUnconfigured(ctx context.Context, record journal.Run, h sandbox.Handle, there bool) error {
	if there && record.Handle == nil {
		rec.runs.Removals.Later(record.Key, h) // nothing ran in it
	} else if there {
		if err := rec.runs.Removals.Now(h); err != nil {
			u := newUnserved(record, nil)
			rec.reserveUntilDead(ctx, u, h, journal.Change{Reason: delegation.ReasonOperator}, err)
			rec.unserved.add(u)
			return nil
		}
	}
	rec.log.Warn("the watcher ends a run because its outbox is no longer in the configuration", "outbox_id", record.Outbox, "run", record.Key)
	return rec.endUnrequested(ctx, record, delegation.ReasonOperator)
}

// lose handles a run whose sandbox is gone. If the run was already being ended, it ends for that reason. Otherwise it
// is attempted again if its profile says so, and else it is lost.
func (rec *recovery) lose(ctx context.Context, box *outbox.Outbox, record journal.Run) error {
	rec.runs.Removals.Release(record.Sandbox)
	if record.Ending != nil {
		return rec.end(ctx, box, record, record.Ending.Change())
	}
	change := journal.Change{
		Reason: delegation.ReasonLost, Ended: time.Now(), Code: delegation.CodeLost,
		Text: "The run's sandbox was gone when the watcher was started again.", Hint: "Ask again with a new request_id.",
	}
	if again, err := rec.attemptLost(ctx, box, record, change); again || err != nil {
		return err
	}
	return rec.end(ctx, box, record, change)
}

// end writes the run's end to the journal, then answers the client.
func (w *Watcher) end(ctx context.Context, box *outbox.Outbox, record journal.Run, change journal.Change) error {
	crash.At("recover.ended")
	if err := w.journal.Move(ctx, record.Key, record.State, delegation.StateEnded, change); err != nil {
		return err
	}
	_, err := w.respondToRecord(ctx, box, record.Key)
	return err
}

// stuckOutboxes count the responses that could not be written in each outbox.
type stuckOutboxes map[string]int

// mostStuck bounds these tries: a parent can plant files where any number of responses belong, and all outboxes wait.
const mostStuck = 16

// respondToEnded publishes the response of a run that ended under an earlier watcher. It tries no more in an outbox
// that is stuck. The outbox's own listings write what it still owes, or after a stop the next start does.
func (w *Watcher) respondToEnded(ctx context.Context, box *outbox.Outbox, record journal.Run, stuck stuckOutboxes) error {
	if stuck[record.Outbox] < mostStuck {
		answered, err := w.respondToRecord(ctx, box, record.Key)
		if err == nil && !answered {
			stuck[record.Outbox]++
		}
		return err
	}
	w.endOutput(box, record)
	if there, err := box.StillThere(record.FileName, record.Reading()); !there && err == nil && box.Dir.Alive() == nil {
		return w.noteAnswered(ctx, record.Key) // its request is gone or was replaced, so no listing would find it
	}
	return nil // it is still owed
}

// respondToRecord publishes the response of a run that ended under an earlier watcher. It returns false if the response
// cannot be written.
func (w *Watcher) respondToRecord(ctx context.Context, box *outbox.Outbox, key string) (answered bool, err error) {
	record, err := w.journal.Get(ctx, key)
	if err != nil {
		return false, err
	}
	if box != nil {
		w.endOutput(box, record)
	}
	if name, ok := delegation.ResponseNameFor(outbox.RecordID(record)); ok && box != nil {
		if err := box.Respond(record.FileName, name, record.Reading(), outbox.ResponseOf(record)); err != nil {
			box.Stumble("write a response", err) // each listing tries it again
			// The obstacle is the client's doing, and must not keep the watcher from starting.
			return false, nil
		}
	}
	return true, w.noteAnswered(ctx, key)
}

func (w *Watcher) noteAnswered(ctx context.Context, key string) error {
	crash.At("recover.answered")
	return w.journal.NoteAnswered(ctx, key)
}

// boxOf returns the served outbox with this id, or nil.
func (w *Watcher) boxOf(id string) *outbox.Outbox {
	for _, box := range w.boxes {
		if box.Serves(id) {
			return box
		}
	}
	return nil
}

// boxAside returns the box that would serve the outbox with this id, if the outbox's name did not lead to another
// directory; otherwise nil.
func (w *Watcher) boxAside(id string) *outbox.Outbox {
	for _, box := range w.boxes {
		if box.WouldServe(id) {
			return box
		}
	}
	return nil
}
