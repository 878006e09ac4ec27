package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"torno/delegation"
)

// maxGrant bounds by how much a host may lengthen a run, so that a status that makes no sense holds nobody for ever.
const maxGrant = 24 * time.Hour

// vigil is what one Wait knows about its run.
type vigil struct {
	run     *Run
	tell    func(Progress)
	told    *Progress // the last one
	pulse   pulse
	own     delegation.Reading // of the request file, when it was last seen to be ours
	status  delegation.RunStatus
	limit   time.Time // when to give up; zero while the run has all the time it needs
	instead error     // why what is in the place of the response is none
}

// look returns the response when there is one, and an error when none can come any more.
func (v *vigil) look() (*delegation.Response, error) {
	var response *delegation.Response
	if response, v.instead = v.run.response(); response != nil {
		return response, nil
	}
	if err := v.run.m.dir.Alive(); err != nil {
		return nil, fmt.Errorf("outbox %s: %w", v.run.m.Outbox(), err)
	}
	if err := v.checkRequest(); err != nil {
		return nil, err
	}
	v.pulse.feel(v.run.m)
	if v.pulse.lost(v.run.m.patience) {
		return nil, fmt.Errorf("subagent %s: %w", v.run.id, v.pulse.nobody)
	}
	return nil, nil
}

// response returns the run's response if it is there, whole, and this run's. Anything else in its place is not ours to
// judge: a half-written file will be whole at the next look, and a stale one will be replaced. Why it is none is only
// worth a word when no other comes.
func (r *Run) response() (*delegation.Response, error) {
	data, _, err := r.m.read(delegation.ResponseName(r.id), maxResponse)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	response, err := delegation.DecodeResponse(data)
	if err != nil {
		return nil, err
	}
	if response.RequestID != r.request.String() || response.SubagentID != r.id.String() {
		return nil, errors.New("it answers another request")
	}
	return &response, nil
}

// checkRequest fails when the request is no longer ours. It reads the file unless its stamp shows that it is as it was.
func (v *vigil) checkRequest() error {
	stamp, err := v.run.m.dir.Stat(delegation.RequestName(v.run.id))
	if err == nil && v.own.Content != "" && v.own.Unchanged(stamp) {
		return nil
	}
	own, err := v.run.reads()
	if errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) {
		return err
	}
	if err == nil {
		v.own = own
	}
	return nil // what cannot be read now may be whole at the next look
}

// follow moves the limit with what the watcher says. Waiting for a place has no limit of ours; the clock runs while
// nothing is known, once the child runs, and once it ended. The host's clock may differ from ours, so only differences
// of its times are used. A run goes forward: a status that takes it back, or says the same again, wins it no time.
func (v *vigil) follow() {
	status, ok := v.run.status()
	if !ok {
		return
	}
	was := v.status
	again := status.Attempt > was.Attempt
	if was.State != "" && !again && order[status.State] < order[was.State] {
		return
	}
	v.status = status
	if was.State != "" && !again && order[status.State] == order[was.State] {
		return
	}
	switch status.State {
	case delegation.StateRunning, delegation.StateWaiting:
		v.limit = time.Now().Add(v.run.granted(status)).Add(Grace)
	case delegation.StateEnded:
		v.limit = time.Now().Add(Grace)
	default:
		v.limit = time.Time{}
	}
}

// order is how far along a state is.
var order = map[delegation.State]int{
	delegation.StateQueued: 1, delegation.StateStarting: 2, delegation.StateRunning: 3, delegation.StateWaiting: 3, delegation.StateEnded: 4,
}

// granted is how long the run may take.
func (r *Run) granted(status delegation.RunStatus) time.Duration {
	if status.RunningSince.IsZero() || status.Deadline.IsZero() {
		return r.timeout
	}
	return max(r.timeout, min(status.Deadline.Sub(status.RunningSince), r.timeout+maxGrant))
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
