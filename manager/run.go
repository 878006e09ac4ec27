package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"torno/delegation"
)

// Run is a request, from its file to its result.
type Run struct {
	m            *Manager
	id           delegation.SubagentID
	request      delegation.RequestID
	workspace    string
	asked        string        // the workspace that the request names; the child may have got a copy
	profile      string        // the profile that the request names
	answer       string        // below the workspace; "" for none
	timeout      time.Duration // the time that the request asks for
	most         time.Duration // the longest time that the profile allows; 0 if it is not known
	cancelOnDone bool
	atRequest    workspaceSnapshot
}

// runOf returns the run of a valid request.
func (m *Manager) runOf(req delegation.Request) *Run {
	r := &Run{
		m: m, id: req.SubagentID, request: req.RequestID,
		workspace: req.Workspace,
		timeout:   time.Duration(req.TimeoutSeconds) * time.Second,
	}
	if !filepath.IsAbs(r.workspace) {
		r.workspace = filepath.Join(m.Outbox(), r.workspace)
	}
	r.asked, r.profile = r.workspace, req.Profile.String()
	if answer, err := answerPath(r.workspace, req.AnswerFile); err == nil {
		r.answer = answer
	}
	return r
}

// ID names the subagent within the outbox.
func (r *Run) ID() string { return r.id.String() }

// RequestID tells this run from the others of the subagent.
func (r *Run) RequestID() string { return r.request.String() }

// Workspace returns the directory that the child may write.
func (r *Run) Workspace() string { return r.workspace }

// Timeout returns how long the run may take. That is less than its parent asked for if the profile allows less, which is
// known only of a run that this process has asked for.
func (r *Run) Timeout() time.Duration {
	if r.most > 0 {
		return min(r.timeout, r.most)
	}
	return r.timeout
}

// AnswerFile returns where in its workspace the run's answer will be.
func (r *Run) AnswerFile() string { return r.answer }

// Attach finds the run of a subagent by its request file, even if another process wrote the request. A request that the
// host must refuse has a run too, so that a caller can wait for the refusal.
func (m *Manager) Attach(id string) (*Run, error) {
	subagent, err := parseID(id)
	if err != nil {
		return nil, err
	}
	data, err := m.read(delegation.RequestName(subagent), m.requestLimit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, m.taken(subagent, "", fmt.Errorf("subagent %s in %s: %w", id, m.Outbox(), ErrNoRun))
	}
	if err != nil {
		return nil, fmt.Errorf("request of %s: %w", id, err)
	}
	if req, err := delegation.DecodeRequest(data); err == nil && req.SubagentID == subagent {
		run := m.runOf(req)
		run.atRequest.workspace = run.snapshot().workspace // without the answer, which may already be the run's own
		return run, nil
	}
	request, err := peek(data)
	if err != nil {
		return nil, fmt.Errorf("request of %s: %w", id, err)
	}
	return &Run{m: m, id: subagent, request: request, timeout: DefaultTimeout}, nil
}

// peek returns the request_id of a request file, valid or not.
func peek(data []byte) (delegation.RequestID, error) {
	_, request := delegation.PeekIDs(data)
	return delegation.ParseRequestID(request)
}

// Cancel asks the host to end the run and does not wait: the run is over when Wait returns.
func (r *Run) Cancel(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.m.alone(func() error {
		if err := r.checkCurrent(); err != nil {
			return err
		}
		if err := r.m.dir.Publish(r.sentinel(), nil); err != nil {
			return fmt.Errorf("cancel %s: %w", r.id, err)
		}
		return nil
	})
}

// sentinel returns the name of the file that ends the run. If the watcher knows the form, the name includes the
// request, so that neither clocks nor a later request can confuse it.
func (r *Run) sentinel() string {
	beat, err := r.m.heartbeat()
	if err == nil && slices.Contains(beat.Features, delegation.FeatureCancel) {
		return delegation.CancelRequestName(r.id, r.request)
	}
	return delegation.CancelName(r.id)
}

// Withdraw takes the request back, with its result. The host ends the child if it still runs.
func (r *Run) Withdraw() error {
	return r.remove()
}

// checkCurrent fails unless the request file is still this run's.
func (r *Run) checkCurrent() error {
	_, err := r.currentRequest()
	return err
}

// currentRequest returns the Reading of the request file. It fails if the file is no longer this run's.
func (r *Run) currentRequest() (delegation.Reading, error) {
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

// remove removes the run's files. The error is ErrGone if the request was not there any more, and ErrSuperseded if the
// next run's was, whose files stay.
func (r *Run) remove() error {
	err := r.m.alone(r.removeCurrent)
	if err != nil && !isOver(err) {
		return err
	}
	return cmp.Or(r.removeNamed(), err)
}

// isOver reports whether the outbox no longer has the request of a run.
func isOver(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) }

// removeCurrent removes the files that have the subagent's name, the request first: while the request is there, the host
// may still write a response.
func (r *Run) removeCurrent() error {
	missing := r.checkCurrent()
	if missing != nil && !errors.Is(missing, ErrGone) {
		return missing
	}
	names := []string{delegation.ResponseName(r.id), delegation.CancelName(r.id), delegation.StatusName(r.id)}
	if missing == nil { // where none was, another client may have put one by now
		names = slices.Insert(names, 0, delegation.RequestName(r.id))
	}
	var err error
	for _, name := range names {
		err = errors.Join(err, r.m.dir.Remove(name))
	}
	return cmp.Or(err, missing)
}

// removeNamed removes the files whose names say that they belong to this request. The host removes the live output
// itself, and can do so without listing the outbox. removeNamed does it only if no host is there.
func (r *Run) removeNamed() error {
	err := errors.Join(r.m.dir.Remove(delegation.CancelRequestName(r.id, r.request)), r.removeInputs())
	if _, nobody := r.m.Serving(); nobody != nil {
		err = errors.Join(err, r.removeEvents())
	}
	return err
}

// removeEvents removes the segments of the run's live output.
func (r *Run) removeEvents() error {
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
