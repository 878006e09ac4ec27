package run

import (
	"sync"
	"time"

	"torno/delegation"
)

// Standing says where a run stands, as its journal has it. A run has one Standing. Status files, live events and the
// operator's view are made from it.
type Standing struct {
	Phase     Phase
	Position  int                          // in the queue, while it waits there
	Reason    delegation.Reason            // of its end
	Started   time.Time                    // when its agent began; the journal may know it a moment later
	Input     *delegation.InputStatus      // status of the parent's inputs to the agent; nil if there were none
	Approvals []delegation.PendingApproval // the agent's questions that wait
	Stranded  string                       // why the site of its sandbox cannot be reached; "" if it can
}

// standing keeps where a run stands, and wakes the goroutines that wait for a change.
type standing struct {
	mu      sync.Mutex
	now     Standing
	changed chan struct{} // closed by the next change; nil while nothing waits for it
}

func (s *standing) read() Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// watch returns where the run stands, and a channel that is closed when that changes.
func (s *standing) watch() (Standing, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.now, s.changed
}

func (s *standing) set(change func(*Standing)) (before, now Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.now
	change(&s.now)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return before, s.now
}

// Standing returns where the run stands.
func (r *Run) Standing() Standing { return r.standing.read() }

// Watch returns where the run stands, and a channel that is closed when that changes. A run that is over does not
// change any more.
func (r *Run) Watch() (Standing, <-chan struct{}) { return r.standing.watch() }

// change changes where the run stands, and updates every view, in the order of the changes.
func (r *Run) change(change func(*Standing)) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.show(r.standing.set(change))
}

func (r *Run) show(before, now Standing) {
	if state := now.Phase.State(); state != before.Phase.State() {
		r.live.State(state, now.Reason)
	}
	r.client.Tell(r.status(now))
}

// Show shows that the run waits at a position of the queue.
func (r *Run) Show(position int) { r.change(func(s *Standing) { s.Position = position }) }

// status returns the client's view.
func (r *Run) status(now Standing) delegation.RunStatus {
	s := delegation.RunStatus{
		Version: delegation.Version, SubagentID: r.key.Subagent.String(), RequestID: r.key.Request.String(), State: now.Phase.State(),
		Position: now.Position, Reason: now.Reason, Attempt: r.key.Attempt, RunningSince: now.Started, UpdatedAt: time.Now().UTC(), Input: now.Input,
		Approvals: now.Approvals,
	}
	if d := r.request.Descent; d.Run != "" {
		s.ParentID, s.Depth = d.Parent, d.Depth
	}
	switch now.Phase {
	case Waiting: // the latest possible deadline
		s.Deadline = now.Started.Add(r.spec.Longest())
	case Running:
		s.Deadline = now.Started.Add(r.spec.Timeout + r.desk.PausedSoFar())
	}
	if now.Stranded != "" && now.Reason == "" {
		s.Detail = strandedDetail
	}
	return s
}
