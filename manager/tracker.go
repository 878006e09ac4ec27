package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"torno/delegation"
)

// maxGrant bounds the time that a host may add to a run, so that a nonsensical status does not keep a caller waiting
// for ever.
const maxGrant = 24 * time.Hour

// tracker holds the knowledge of one Wait, or of one reader of events, about its run.
type tracker struct {
	run       *Run
	tell      func(WaitUpdate)
	reported  *WaitUpdate // the last update that the caller got
	heartbeat heartbeatMonitor
	request   delegation.Reading // the request file, when it was last known to be ours
	status    delegation.RunStatus
	entered   time.Time // when the state was first seen; running and waiting count as one
	giveUpAt  time.Time // zero while the run may take any time
	unusable  error     // why the file with the response's name is not this run's response
}

// check returns the response if there is one, and an error if no response can come any more.
func (t *tracker) check() (*delegation.Response, error) {
	var response *delegation.Response
	if response, t.unusable = t.run.response(); response != nil {
		return response, nil
	}
	if err := t.run.m.dir.Alive(); err != nil {
		return nil, fmt.Errorf("outbox %s: %w", t.run.m.Outbox(), err)
	}
	if err := t.checkRequest(); err != nil {
		return nil, err
	}
	t.heartbeat.update(t.run.m)
	if t.heartbeat.absentFor(t.run.m.patience) {
		return nil, fmt.Errorf("subagent %s: %w", t.run.id, t.heartbeat.absence)
	}
	return nil, nil
}

// response returns the run's response if it is there, whole, and this run's. Any other file under its name may still
// change: a half-written file will be whole at the next look, and a stale one will be replaced. The error says why the
// file does not count; it only matters if no other file comes.
func (r *Run) response() (*delegation.Response, error) {
	data, err := r.m.read(delegation.ResponseName(r.id), maxResponse)
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

// checkRequest fails if the request is no longer ours. It reads the file unless the stamp shows that the file has not
// changed.
func (t *tracker) checkRequest() error {
	stamp, err := t.run.m.dir.Stat(delegation.RequestName(t.run.id))
	if err == nil && t.request.Content != "" && t.request.Unchanged(stamp) {
		return nil
	}
	own, err := t.run.currentRequest()
	if errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) {
		return err
	}
	if err == nil {
		t.request = own
	}
	return nil // if it cannot be read now, it may be whole at the next look
}

// moveLimit moves giveUpAt when the status changes. A queued run may wait without limit. The limit counts while nothing
// is known, once the child runs, and once it has ended. The host's clock may differ from ours, so only differences
// between its times are used. A run only goes forward: it gets no more time from a status that takes it back or says
// the same again.
func (t *tracker) moveLimit() {
	status, ok := t.run.status()
	if !ok {
		return
	}
	was := t.status
	again := status.Attempt > was.Attempt
	if was.State != "" && !again && stateOrder[status.State] < stateOrder[was.State] {
		return
	}
	t.status = status
	same := was.State != "" && !again && stateOrder[status.State] == stateOrder[was.State]
	if same && status.Deadline.Equal(was.Deadline) {
		return
	}
	if !same {
		t.entered = time.Now()
	}
	switch status.State {
	case delegation.StateRunning, delegation.StateWaiting: // the deadline moves while its agent waits for approval
		t.giveUpAt = t.entered.Add(t.run.granted(status)).Add(Grace)
	case delegation.StateEnded:
		t.giveUpAt = time.Now().Add(Grace)
	default:
		t.giveUpAt = time.Time{}
	}
}

// stateOrder numbers the states in the order of a run's life.
var stateOrder = map[delegation.State]int{
	delegation.StateQueued: 1, delegation.StateStarting: 2, delegation.StateRunning: 3, delegation.StateWaiting: 3, delegation.StateEnded: 4,
}

// granted returns how long the run may take.
func (r *Run) granted(status delegation.RunStatus) time.Duration {
	if status.RunningSince.IsZero() || status.Deadline.IsZero() {
		return r.timeout
	}
	return max(r.timeout, min(status.Deadline.Sub(status.RunningSince), r.timeout+maxGrant))
}

func (t *tracker) overdue() bool {
	return !t.giveUpAt.IsZero() && !time.Now().Before(t.giveUpAt)
}

// status returns the status of the run, if the watcher has written one.
func (r *Run) status() (delegation.RunStatus, bool) {
	data, err := r.m.read(delegation.StatusName(r.id), maxStatus)
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
