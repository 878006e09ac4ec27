package manager

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
)

// DefaultTimeout is the time that a child may run if neither its parent nor the offered profile sets one.
const DefaultTimeout = 5 * time.Minute

// SpawnOptions say what to do. Only Task is required. Paths are absolute, as the parent sees them.
type SpawnOptions struct {
	// ID names the subagent; by default it is sub_ and eight random hexadecimal digits. The same ID again is the same
	// subagent, with the same default workspace.
	ID   string
	Task string
	// Workspace is the directory that the child may write. By default it is <outbox>/workspaces/<ID>, which Spawn makes
	// and which the child sees as /workspace. The child sees any other workspace at its own path.
	Workspace string
	// Fill fills the default workspace before the child is asked for. The workspace must be new: if the subagent ran
	// before, Spawn fails with ErrWorkspaceThere. If Fill fails, Spawn removes the workspace and writes no request.
	Fill func(ctx context.Context, workspace NewWorkspace) error
	// Made is called if Spawn has just made a default workspace and there is no Fill, before the child is asked for.
	Made func(subagentID string) error
	// Spawn calls Again before it writes the request, if the child's workspace existed before. answer is the answer's path
	// in the workspace. If Again fails, Spawn writes no request. Callers pass patch.CheckAnswer.
	Again func(workspace *os.Root, answer string) error
	// Timeout counts from the start of the child, not from the request. It is sent in whole seconds, rounded up. By
	// default it is the profile's.
	Timeout time.Duration
	// Profile is the name of a profile that the watcher offers; by default its first.
	Profile   string
	Model     string
	SessionID string
	ParentID  string
	// ContextPaths are the paths that the child may read.
	ContextPaths []string
	// YAMLConfig configures agents that read it, such as MassGen.
	YAMLConfig map[string]any
	// AnswerFile is the path of the answer, below the workspace; by default answer.txt.
	AnswerFile string
	// Replace ends an earlier run of the same subagent whose result was not taken. Without it Spawn returns
	// ErrOutstanding.
	Replace bool
	// CancelOnDone withdraws the request when the context of Wait ends, so that the host ends the run and only the
	// workspace stays in the outbox. Otherwise the run continues, and Attach finds it again.
	CancelOnDone bool
}

// Spawn writes a request and returns its run. It fails early, before it writes anything, if no watcher serves the
// outbox or if the watcher is bound to refuse.
func (m *Manager) Spawn(ctx context.Context, o SpawnOptions) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	beat, err := m.served(ctx)
	if err != nil {
		return nil, err
	}
	offer, _ := offered(beat, o.Profile)
	if o.Timeout == 0 {
		o.Timeout = timeoutOf(offer)
	}
	req, err := m.compose(o)
	if err != nil {
		return nil, err
	}
	data, err := encode(req, beat)
	if err != nil {
		return nil, err
	}
	if o.Fill != nil {
		if err := m.wantNew(req.SubagentID); err != nil {
			return nil, err
		}
	}
	if err := m.alone(func() error { return m.makeRoom(req.SubagentID, o.Replace) }); err != nil {
		return nil, err
	}
	run := m.runOf(req)
	run.cancelOnDone, run.most = o.CancelOnDone, time.Duration(offer.MaxTimeoutSeconds)*time.Second
	made := func() ([]byte, error) { req.WorkspaceMade = true; return encode(req, beat) }
	if err := run.publish(ctx, data, made, o); err != nil {
		return nil, err
	}
	return run, nil
}

// offered finds a profile in the watcher's offer. An empty name means the first profile.
func offered(beat delegation.Heartbeat, profile string) (offer delegation.ProfileOffer, ok bool) {
	i := slices.IndexFunc(beat.Profiles, func(p delegation.ProfileOffer) bool { return p.Name == profile || profile == "" })
	if i < 0 {
		return offer, false
	}
	return beat.Profiles[i], true
}

// timeoutOf returns the time for a run of an offered profile if its parent sets none.
func timeoutOf(offer delegation.ProfileOffer) time.Duration {
	if offer.TimeoutSeconds <= 0 || offer.TimeoutSeconds > math.MaxInt32 {
		return DefaultTimeout
	}
	return time.Duration(offer.TimeoutSeconds) * time.Second
}

// compose makes the request that the options ask for.
func (m *Manager) compose(o SpawnOptions) (req delegation.Request, err error) {
	if o.ID == "" {
		o.ID = "sub_" + randomHex(4)
	}
	if req.SubagentID, err = parseID(o.ID); err != nil {
		return req, err
	}
	if req.RequestID, err = delegation.ParseRequestID(randomHex(16)); err != nil {
		return req, err
	}
	if err := parseTokens(&req, o); err != nil {
		return req, err
	}
	if err := m.setPaths(&req, o); err != nil {
		return req, err
	}
	for _, path := range o.ContextPaths {
		if !filepath.IsAbs(path) {
			return req, refuse(delegation.CodeContext, "context_paths", "context path %s is not absolute", path)
		}
	}
	req.Task, req.YAMLConfig, req.ContextPaths = o.Task, o.YAMLConfig, o.ContextPaths
	req.TimeoutSeconds = int((o.Timeout + time.Second - 1) / time.Second)
	req.CreatedAt = time.Now().UTC()
	return req, nil
}

// setPaths sets the workspace and the answer file. It names the default workspace relative to the outbox, because this
// side does not know the outbox's path on the host.
func (m *Manager) setPaths(req *delegation.Request, o SpawnOptions) error {
	if o.Workspace != "" && !filepath.IsAbs(o.Workspace) {
		return refuse(delegation.CodeWorkspace, "workspace", "workspace %s is not an absolute path", o.Workspace)
	}
	if o.Workspace != "" && o.Fill != nil {
		return refuse(delegation.CodeWorkspace, "workspace", "Torno puts files only into a new workspace of the outbox, and %s is the caller's own directory", o.Workspace)
	}
	here := cmp.Or(o.Workspace, filepath.Join(m.Outbox(), Workspaces, o.ID))
	answer, err := answerPath(here, cmp.Or(o.AnswerFile, "answer.txt"))
	if err != nil {
		return refuse(delegation.CodeAnswerFile, "answer_file", "%v", err)
	}
	if o.Workspace == "" {
		req.Workspace, req.AnswerFile = filepath.Join(Workspaces, o.ID), answer
		return nil
	}
	req.Workspace, req.AnswerFile = o.Workspace, filepath.Join(o.Workspace, answer)
	return nil
}

// parseTokens parses the short words of a request.
func parseTokens(req *delegation.Request, o SpawnOptions) error {
	for _, t := range []struct {
		field, text string
		to          *delegation.Token
	}{
		{"profile", o.Profile, &req.Profile},
		{"model", o.Model, &req.Model},
		{"session_id", o.SessionID, &req.SessionID},
		{"parent_id", o.ParentID, &req.ParentID},
	} {
		if err := t.to.UnmarshalText([]byte(t.text)); err != nil {
			return refuse(delegation.CodeInvalid, t.field, "%s %q %v", t.field, t.text, err)
		}
	}
	return nil
}

// encode encodes a request and checks it against the watcher's limits and offers.
func encode(req delegation.Request, beat delegation.Heartbeat) ([]byte, error) {
	if err := checkProfile(req.Profile, beat.Profiles); err != nil {
		return nil, err
	}
	data, err := req.Encode()
	if err != nil {
		return nil, err
	}
	if limit := beat.Limits.RequestBytes; limit > 0 && int64(len(data)) > limit {
		refusal := refuse(delegation.CodeTooBig, "task", "the request is %d bytes long, but the watcher reads at most %d", len(data), limit)
		refusal.Hint = "put long text into a file in the workspace and name the file in the task"
		return nil, refusal
	}
	return data, nil
}

// checkProfile refuses a profile that is not on offer.
func checkProfile(profile delegation.Token, offers []delegation.ProfileOffer) error {
	if profile.IsZero() {
		return nil
	}
	names := make([]string, len(offers))
	for i, offer := range offers {
		if offer.Name == profile.String() {
			return nil
		}
		names[i] = offer.Name
	}
	refusal := refuse(delegation.CodeProfile, "profile", "the watcher offers no profile %s", profile)
	refusal.Hint = "on offer: " + strings.Join(names, ", ")
	return refusal
}

// makeRoom removes the files of an earlier run of the subagent: no late response and no old sentinel may be there when
// the new request appears. It replaces a run whose result was not taken only on demand. The response of such a run
// stays as long as its request does, because the new request may fail to be written. The host removes that response
// when it takes the new request.
func (m *Manager) makeRoom(id delegation.SubagentID, replace bool) error {
	left := []string{delegation.CancelName(id)}
	switch _, err := m.dir.Stat(delegation.RequestName(id)); {
	case errors.Is(err, fs.ErrNotExist):
		left = append(left, delegation.ResponseName(id))
	case err != nil:
		return fmt.Errorf("look for an earlier request of %s: %w", id, err)
	case !replace:
		return fmt.Errorf("subagent %s: %w", id, ErrOutstanding)
	}
	for _, name := range left {
		if err := m.dir.Remove(name); err != nil {
			return fmt.Errorf("remove the files of an earlier run: %w", err)
		}
	}
	return nil
}

// publish makes the workspace if it is ours to make, and then the request. From then on the host may act. made returns
// the request that says that we made the workspace. Of two clients that want a request of one subagent, one gets it.
func (r *Run) publish(ctx context.Context, data []byte, made func() ([]byte, error), o SpawnOptions) error {
	fresh, err := r.prepareWorkspace(ctx, o)
	if err != nil {
		return err
	}
	publish := r.m.dir.PublishNew
	if o.Replace {
		publish = r.m.dir.Publish
	}
	if fresh {
		data, err = made()
	}
	if err == nil {
		r.atRequest = r.snapshot()
		err = r.m.alone(func() error { return publish(delegation.RequestName(r.id), data) })
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist): // the workspace may be in use
		return fmt.Errorf("subagent %s: %w", r.id, ErrOutstanding)
	case fresh:
		err = errors.Join(err, r.dropWorkspace())
	}
	return fmt.Errorf("write request of %s: %w", r.id, err)
}

// prepareWorkspace makes the default workspace, or checks that the caller's own exists. fresh says that it has made one.
func (r *Run) prepareWorkspace(ctx context.Context, o SpawnOptions) (fresh bool, err error) {
	switch {
	case o.Fill != nil:
		return true, r.fill(ctx, o.Fill)
	case o.Workspace == "":
		if fresh, err = r.makeWorkspace(); err != nil {
			return fresh, fmt.Errorf("make workspace %s: %w", r.workspace, err)
		}
	default:
		dir, err := r.m.openWorkspace(r.workspace)
		if err != nil {
			return false, refuse(delegation.CodeWorkspace, "workspace", "workspace %s: %v", r.workspace, err)
		}
		if err := dir.Close(); err != nil {
			return false, err
		}
	}
	switch {
	case fresh && o.Made != nil:
		err = o.Made(r.ID())
	case !fresh && o.Again != nil:
		err = r.again(o.Again)
	}
	if fresh && err != nil {
		err = errors.Join(err, r.dropWorkspace())
	}
	return fresh, err
}

// parseID parses the id of a subagent that a caller has named.
func parseID(id string) (delegation.SubagentID, error) {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return subagent, refuse(delegation.CodeBadID, "subagent_id", "%v", err)
	}
	return subagent, nil
}

// refuse returns a refusal on this side of the wall.
func refuse(code delegation.Code, field, format string, args ...any) *delegation.Refusal {
	return &delegation.Refusal{Code: code, Field: field, Text: fmt.Sprintf(format, args...)}
}

// randomHex returns n random bytes as hexadecimal digits.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
