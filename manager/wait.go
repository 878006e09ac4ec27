package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"torno/delegation"
)

// Grace is how long after a child's time is up a response may take: the host ends the child, removes its sandbox and
// writes.
const Grace = 30 * time.Second

// Wait returns the run's result, once, and then removes the run's files from the outbox: the result is taken. When ctx
// ends first, the run goes on unless it was spawned with CancelOnDone.
//
// Other ends are ErrNobodyServing when the heartbeat stopped, ErrGone or ErrSuperseded when the request is no longer
// there, and ErrOverdue when a watcher that is alive left the run unanswered for its timeout and Grace. Time spent in
// the queue does not count. After ErrNobodyServing and ErrOverdue the request is still there: Wait may be called again.
func (r *Run) Wait(ctx context.Context) (Result, error) {
	wake, unsubscribe := r.m.hints.subscribe(r.concerns)
	defer unsubscribe()
	tick := time.NewTicker(r.m.poll)
	defer tick.Stop()
	v := vigil{run: r, limit: time.Now().Add(r.timeout + Grace)}
	for {
		response, err := v.look()
		if err != nil {
			return Result{}, err
		}
		if response != nil {
			return r.collect(*response), nil
		}
		if v.follow(); v.overdue() {
			return Result{}, r.giveUp(ctx)
		}
		select {
		case <-ctx.Done():
			return Result{}, r.leave(ctx)
		case <-wake:
		case <-tick.C:
		}
	}
}

// concerns says whether a file may tell something new about the run.
func (r *Run) concerns(name string) bool {
	switch name {
	case delegation.ResponseName(r.id), delegation.StatusName(r.id), delegation.RequestName(r.id), delegation.HeartbeatName:
		return true
	}
	return false
}

// leave ends a Wait whose context is done.
func (r *Run) leave(ctx context.Context) error {
	err := fmt.Errorf("wait for %s: %w", r.id, endOf(ctx))
	if !r.cancelOnDone {
		return err
	}
	// The sentinel stays where it is: a host that sees it first ends the child with the reason that is meant.
	cancelled := r.Cancel(context.WithoutCancel(ctx))
	withdrawn := errors.Join(
		r.m.dir.Remove(delegation.RequestName(r.id)),
		r.m.dir.Remove(delegation.ResponseName(r.id)),
	)
	return errors.Join(err, cancelled, withdrawn)
}

// endOf says why a context is done, as what the caller gave for a cause and as what package context calls it.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// giveUp ends a Wait for a response that is overdue. The sentinel makes sure that the child does not run on for ever.
func (r *Run) giveUp(ctx context.Context) error {
	err := fmt.Errorf("subagent %s: %w", r.id, ErrOverdue)
	return errors.Join(err, r.Cancel(context.WithoutCancel(ctx)))
}

// vigil is what one Wait knows about its run.
type vigil struct {
	run   *Run
	pulse pulse
	own   *delegation.Stamp // of the request file, once it was seen to be ours
	state delegation.State
	limit time.Time // when to give up; zero while the run has all the time it needs
}

// look returns the response when there is one, and an error when none can come any more.
func (v *vigil) look() (*delegation.Response, error) {
	if response := v.run.response(); response != nil {
		return response, nil
	}
	if err := v.run.m.dir.Alive(); err != nil {
		return nil, fmt.Errorf("outbox %s: %w", v.run.m.Outbox(), err)
	}
	if err := v.checkRequest(); err != nil {
		return nil, err
	}
	if err := v.pulse.feel(v.run.m); err != nil {
		return nil, fmt.Errorf("subagent %s: %w", v.run.id, err)
	}
	return nil, nil
}

// response returns the run's response if it is there, whole, and this run's. Anything else in its place is not ours to
// judge: a half-written file will be whole at the next look, and a stale one will be replaced.
func (r *Run) response() *delegation.Response {
	data, _, err := r.m.read(delegation.ResponseName(r.id), maxResponse)
	if err != nil {
		return nil
	}
	response, err := delegation.DecodeResponse(data)
	if err != nil || response.RequestID != r.request.String() || response.SubagentID != r.id.String() {
		return nil
	}
	return &response
}

// checkRequest fails when the request is no longer ours. It reads the file only when it is another one than before.
func (v *vigil) checkRequest() error {
	stamp, err := v.run.m.dir.Stat(delegation.RequestName(v.run.id))
	if err == nil && v.own != nil && untouched(stamp, *v.own) {
		return nil
	}
	err = v.run.holds()
	if errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) {
		return err
	}
	if err == nil {
		v.own = &stamp
	}
	return nil // what cannot be read now may be whole at the next look
}

// untouched says that two looks saw one file with one content.
func untouched(a, b delegation.Stamp) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.ChangeTime.Equal(b.ChangeTime)
}

// follow moves the limit with what the watcher says. Waiting for a place has no limit of ours; the clock runs while
// nothing is known, once the child runs, and once it ended. The host's clock may differ from ours, so only differences
// of its times are used.
func (v *vigil) follow() {
	status, ok := v.run.status()
	if !ok || status.State == v.state {
		return
	}
	v.state = status.State
	switch status.State {
	case delegation.StateRunning, delegation.StateWaiting:
		granted := v.run.timeout
		if !status.RunningSince.IsZero() && !status.Deadline.IsZero() {
			granted = max(granted, status.Deadline.Sub(status.RunningSince))
		}
		v.limit = time.Now().Add(granted).Add(Grace)
	case delegation.StateEnded:
		v.limit = time.Now().Add(Grace)
	default:
		v.limit = time.Time{}
	}
}

func (v *vigil) overdue() bool {
	return !v.limit.IsZero() && !time.Now().Before(v.limit)
}

// status returns where the run stands, if the watcher says so.
func (r *Run) status() (delegation.RunStatus, bool) {
	data, _, err := r.m.read(delegation.StatusName(r.id), maxStatus)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.m.log.Debug("status not readable", "subagent", r.id.String(), "error", err)
		}
		return delegation.RunStatus{}, false
	}
	status, err := delegation.DecodeRunStatus(data)
	if err != nil || status.RequestID != r.request.String() || status.SubagentID != r.id.String() {
		return delegation.RunStatus{}, false
	}
	return status, true
}
