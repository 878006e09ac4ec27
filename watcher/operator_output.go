package watcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/output"
)

// lookAgain is how long a follower waits before it looks again for the run's next attempt, or for its sandbox in the
// record.
const lookAgain = 100 * time.Millisecond

// Output shows a child's output. While the sandbox exists, Output reads from the launcher; afterwards it shows the
// tails in the record. A follower of a waiting run waits with it.
func (o *Operator) Output(ctx context.Context, ref string, follow bool, emit func(control.Output) error) error {
	record, err := o.resolve(ctx, ref)
	for err == nil && record.State != delegation.StateEnded && o.Watcher != nil {
		if record.Handle != nil && isOn(record.State) {
			if err := o.live(ctx, record, follow, emit); !errors.Is(err, sandbox.ErrNotFound) {
				return err
			}
		}
		if !follow {
			break
		}
		if err := o.Watcher.awaitChange(ctx, record); err != nil {
			return err
		}
		record, err = o.Journal.Get(ctx, record.Key)
	}
	if err != nil {
		return err
	}
	return tails(record, emit)
}

// awaitChange waits until the run's state may differ from the state in record.
func (w *Watcher) awaitChange(ctx context.Context, record journal.Run) error {
	r := w.runs.Running(record.Key)
	if r == nil {
		return retry.Pause(ctx, lookAgain)
	}
	now, changed := r.Watch()
	if state := now.Phase.State(); state != record.State || isOn(state) {
		return retry.Pause(ctx, lookAgain)
	}
	select {
	case <-changed:
	case <-r.Over():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// isOn reports whether the run's agent is present: it works, or it waits for approval.
func isOn(state delegation.State) bool {
	return state == delegation.StateRunning || state == delegation.StateWaiting
}

// tails shows the ends of the run's output that the journal keeps.
func tails(record journal.Run, emit func(control.Output) error) error {
	for _, kept := range []control.Output{
		{Stream: sandbox.Stdout, Bytes: []byte(record.StdoutTail)}, {Stream: sandbox.Stderr, Bytes: []byte(record.StderrTail)},
	} {
		if len(kept.Bytes) == 0 {
			continue
		}
		if err := emit(kept); err != nil {
			return err
		}
	}
	return nil
}

// live shows the output of an existing sandbox. It opens its own attachment.
func (o *Operator) live(ctx context.Context, record journal.Run, follow bool, emit func(control.Output) error) error {
	launcher := o.Watcher.config.Launchers[record.Launcher]
	if launcher == nil {
		return fmt.Errorf("the launcher %q of run %s is not in use", record.Launcher, record.Key)
	}
	att, err := launcher.Open(ctx, *record.Handle, "")
	if err != nil {
		return err
	}
	chunks, wait := keepReading(att.Output())
	defer wait()
	defer att.Close()
	idle := newIdle(follow)
	defer idle.stop()
	head := output.Child{OnStarted: func(time.Time) {}} // removes init's line
	var said output.Readable
	agent := o.Watcher.notes.Load(record.Key).Agent
	for {
		select {
		case chunk, open := <-chunks:
			if !open {
				return nil
			}
			idle.reset()
			head.Started = head.Started || chunk.Gap // after a gap init's line is gone already
			if chunk.Stream == sandbox.Stderr && !head.Started {
				chunk.Bytes = head.TakeHead(chunk.Bytes)
			}
			if chunk.Gap {
				said.Tear() // in either stream: the gap may have lost bytes of both
			}
			if agent && chunk.Stream == sandbox.Stdout {
				chunk.Bytes = said.Take(chunk.Bytes)
			}
			if len(chunk.Bytes) == 0 && !chunk.Gap {
				continue
			}
			if err := emit(control.Output{Stream: chunk.Stream, Bytes: chunk.Bytes, Gap: chunk.Gap}); err != nil {
				return err
			}
		case <-idle.over():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// maxUnread is how many chunks of live output may wait for a reader.
const maxUnread = 64

// keepReading keeps reading even if the operator's side takes nothing: an unread stream would stop the child, and an
// operator's terminal must not do that. Chunks that are not taken in time become a gap. wait returns when the output
// has ended.
func keepReading(output <-chan sandbox.Chunk) (chunks <-chan sandbox.Chunk, wait func()) {
	kept := make(chan sandbox.Chunk, maxUnread)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(kept)
		lost := false
		for chunk := range output {
			chunk.Gap = chunk.Gap || lost
			select {
			case kept <- chunk:
				lost = false
			default:
				lost = true
			}
		}
	})
	return kept, reading.Wait
}

// idleAfter is how long a stream must be silent before a reader that does not follow takes it as fully read.
const idleAfter = 300 * time.Millisecond

// idle signals that a stream has been silent for idleAfter. For a follower it never signals.
type idle struct{ timer *time.Timer }

func newIdle(follow bool) idle {
	if follow {
		return idle{}
	}
	return idle{time.NewTimer(idleAfter)}
}

func (q idle) over() <-chan time.Time {
	if q.timer == nil {
		return nil
	}
	return q.timer.C
}

func (q idle) reset() {
	if q.timer != nil {
		q.timer.Reset(idleAfter)
	}
}

func (q idle) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}
