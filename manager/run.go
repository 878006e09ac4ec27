package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"torno/delegation"
)

// Run is one request and what becomes of it.
type Run struct {
	m            *Manager
	id           delegation.SubagentID
	request      delegation.RequestID
	workspace    string
	answer       string // beneath the workspace; "" for none
	timeout      time.Duration
	cancelOnDone bool
	before       place
}

// runOf is the run of a valid request.
func (m *Manager) runOf(req delegation.Request) *Run {
	r := &Run{
		m: m, id: req.SubagentID, request: req.RequestID,
		workspace: req.Workspace,
		timeout:   time.Duration(req.TimeoutSeconds) * time.Second,
	}
	if !filepath.IsAbs(r.workspace) {
		r.workspace = filepath.Join(m.Outbox(), r.workspace)
	}
	if answer, err := answerPath(r.workspace, req.AnswerFile); err == nil {
		r.answer = answer
	}
	return r
}

// ID names the subagent within the outbox.
func (r *Run) ID() string { return r.id.String() }

// RequestID tells this run from the others of the subagent.
func (r *Run) RequestID() string { return r.request.String() }

// Workspace is the directory that the child may write.
func (r *Run) Workspace() string { return r.workspace }

// Attach finds the run of a subagent by its request file, also one that another process asked for. A request that the
// host must refuse has a run too, so that the refusal can be waited for.
func (m *Manager) Attach(id string) (*Run, error) {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return nil, refuse(delegation.CodeBadID, "subagent_id", "%v", err)
	}
	data, _, err := m.read(delegation.RequestName(subagent), m.requestLimit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, m.taken(subagent, "", fmt.Errorf("subagent %s in %s: %w", id, m.Outbox(), ErrNoRun))
	}
	if err != nil {
		return nil, fmt.Errorf("request of %s: %w", id, err)
	}
	if req, err := delegation.DecodeRequest(data); err == nil && req.SubagentID == subagent {
		run := m.runOf(req)
		run.before.workspace = run.place().workspace // the answer may be there already, and be the run's own
		return run, nil
	}
	request, err := peek(data)
	if err != nil {
		return nil, fmt.Errorf("request of %s: %w", id, err)
	}
	return &Run{m: m, id: subagent, request: request, timeout: DefaultTimeout}, nil
}

// peek finds out which request a file is, valid or not.
func peek(data []byte) (delegation.RequestID, error) {
	_, request := delegation.PeekIDs(data)
	return delegation.ParseRequestID(request)
}

// Cancel asks the host to end the run, and returns when it was asked: the run is over when Wait returns.
func (r *Run) Cancel(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.holds(); err != nil {
		return err
	}
	if err := r.m.dir.Publish(r.sentinel(), nil); err != nil {
		return fmt.Errorf("cancel %s: %w", r.id, err)
	}
	return nil
}

// sentinel is the name of the file that ends the run. Where the watcher knows it, that is the one that names the request: no
// clock and no later request can have it mistaken.
func (r *Run) sentinel() string {
	beat, err := r.m.heartbeat()
	if err == nil && slices.Contains(beat.Features, delegation.FeatureCancel) {
		return delegation.CancelRequestName(r.id, r.request)
	}
	return delegation.CancelName(r.id)
}

// Withdraw takes the request back: nobody waits for the result any more. The host ends the child if it still runs.
func (r *Run) Withdraw() error {
	if err := r.holds(); err != nil {
		return err
	}
	return r.remove()
}

// holds says whether the request file is still this run's.
func (r *Run) holds() error {
	_, err := r.reads()
	return err
}

// reads returns what was read of the request file. It fails where that is no longer this run's.
func (r *Run) reads() (delegation.Reading, error) {
	data, read, err := r.m.readRequest(delegation.RequestName(r.id), r.m.requestLimit())
	if errors.Is(err, fs.ErrNotExist) {
		return read, fmt.Errorf("subagent %s: %w", r.id, ErrGone)
	}
	if err != nil {
		return read, fmt.Errorf("request of %s: %w", r.id, err)
	}
	if request, err := peek(data); err != nil || request != r.request {
		return read, fmt.Errorf("subagent %s: %w", r.id, ErrSuperseded)
	}
	return read, nil
}

// remove takes away the run's files, the request first: while it is there, the host may still write a response. Live
// output is the host's to remove, which takes no listing there, unless there is no host.
func (r *Run) remove() error {
	err := errors.Join(
		r.m.dir.Remove(delegation.RequestName(r.id)),
		r.m.dir.Remove(delegation.ResponseName(r.id)),
		r.m.dir.Remove(delegation.CancelName(r.id)),
		r.m.dir.Remove(delegation.CancelRequestName(r.id, r.request)),
		r.m.dir.Remove(delegation.StatusName(r.id)),
	)
	if _, nobody := r.m.Serving(); nobody != nil {
		err = errors.Join(err, r.sweep())
	}
	return err
}

// sweep removes the segments of the run's live output.
func (r *Run) sweep() error {
	return r.m.dir.Names(context.Background(), 256, func(names []string) error {
		for _, name := range names {
			if _, ours := r.segment(name); !ours {
				continue
			}
			if err := r.m.dir.Remove(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cancel asks the host to end the newest run of a subagent; see Run.Cancel.
func (m *Manager) Cancel(ctx context.Context, id string) error {
	run, err := m.Attach(id)
	if err != nil {
		return err
	}
	return run.Cancel(ctx)
}

// Withdraw takes back the newest request of a subagent; see Run.Withdraw.
func (m *Manager) Withdraw(id string) error {
	run, err := m.Attach(id)
	if err != nil {
		return err
	}
	return run.Withdraw()
}
