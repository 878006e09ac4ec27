package run

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/notice"
)

const (
	attachmentLasted = time.Minute // an attachment that held this long counts as good: after it the tries are counted from one again
	maxReattach      = 8           // after this many failed attachments the sandbox is removed by force, unless its launcher does not answer
)

// follow watches a started sandbox until it has ended. It attaches again whenever the connection breaks: a run is not
// lost because its launcher is away for a while. The run is lost when its sandbox is gone. A sandbox that can neither
// be watched nor be left alone any longer is removed.
func (r *runner) follow() *outcome {
	held := r.runs.Notices.Flag("")
	defer held.Close()
	unseen := r.handle.State == sandbox.HandleExited
	for try := 1; ; try++ {
		begin := time.Now()
		exit, err := r.attend(held)
		var o *outcome
		switch {
		case err == nil:
			r.handle.State = sandbox.HandleExited
			return r.judge(exit, unseen)
		case errors.As(err, &o):
			return o
		case !r.Standing().Phase.IsReleased():
			return r.brokenHold(err)
		}
		unseen = true
		if errors.Is(err, sandbox.ErrOtherSite) {
			held.Lower()
			if o := r.awaitSite(err); o != nil {
				return o
			}
			try = 0
			continue
		}
		if errors.Is(err, sandbox.ErrNotFound) {
			r.handle = sandbox.Handle{}
			return r.vanished(err)
		}
		if r.runs.Life.Err() != nil {
			return left()
		}
		if time.Since(begin) > attachmentLasted {
			try = 1
		}
		held.Raise(delegation.NoticeLauncher, err)
		retry.Warn(r.runs.Log, "watch a sandbox", try, err)
		if (r.overdue() || try >= maxReattach && !sandbox.IsUnavailable(err)) && r.force(held) {
			return r.vanished(err)
		}
		r.runs.calls.pause(r.runs.Life, retry.Backoff(try))
	}
}

// force removes a sandbox that cannot be watched, and reports whether it succeeded.
func (r *runner) force(held *notice.Flag) bool {
	if r.Cause() != "" && !r.noteEnding() {
		return false
	}
	err := r.runs.calls.once(held, func(ctx context.Context) error {
		crash.At("follow.forced")
		return r.launcher.Remove(ctx, r.handle)
	})
	if err != nil {
		return false
	}
	r.handle = sandbox.Handle{}
	return true
}

// overdue ends a run that cannot be watched if its time is over, and reports whether the run must end.
func (r *runner) overdue() bool {
	if !r.Standing().Started.IsZero() && r.timeLeft() == 0 {
		r.End(delegation.ReasonDeadline)
	}
	return r.Cause() != ""
}

// vanished ends a run whose sandbox is gone: for the cause of its end if there is one, otherwise as lost.
func (r *Run) vanished(err error) *outcome {
	if reason := r.Cause(); reason != "" {
		return endedFor(reason)
	}
	return lost(err)
}
