package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"torno/delegation"
)

// request is the request of a subagent, as the host reads it.
func (h *host) requestOf(id string) delegation.Request {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.path, "request_"+id+".json"))
	if err != nil {
		h.t.Fatal(err)
	}
	return must(delegation.DecodeRequest(data))
}

// TestContinue: what the options leave out is as in the last run, whether its result was taken or not.
func TestContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.beat.Features = append(h.beat.Features, delegation.FeatureSessions)
		h.sendBeat()
		m := h.client(Options{})
		own := t.TempDir()
		kept := func(r *delegation.Response) { r.Profile, r.SessionID = "massgen", "session-1" }
		first := h.spawn(m, SpawnOptions{ID: "s1", Workspace: own})
		if _, err := m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}); !errors.Is(err, ErrRunning) {
			t.Errorf("while it runs: %v", err)
		}
		h.respond(first, kept)
		if _, err := m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}); !errors.Is(err, ErrOutstanding) {
			t.Errorf("before its result was taken: %v", err)
		}
		result := must(take(t.Context(), first))
		if result.SessionID != "session-1" || result.Profile != "massgen" {
			t.Errorf("the result is %+v", result)
		}
		second := must(m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}))
		req := h.requestOf("s1")
		if req.SessionID.String() != "session-1" || req.Profile.String() != "massgen" || req.Workspace != own || req.Task != "on" || req.RequestID.String() == first.RequestID() {
			t.Errorf("the request is %+v", req)
		}
		h.respond(second, kept)
		must(m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on", Replace: true, Profile: "shell", SessionID: "session-0"}))
		if req := h.requestOf("s1"); req.SessionID.String() != "session-0" || req.Profile.String() != "shell" || req.Workspace != own {
			t.Errorf("the request is %+v", req)
		}
	})
}

// TestContinueWhatIsNotKnownHere: the host has what this side has forgotten.
func TestContinueWhatIsNotKnownHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		m := h.client(Options{})
		var refusal *delegation.Refusal
		if _, err := m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}); !errors.As(err, &refusal) || refusal.Code != delegation.CodeSession || refusal.Hint == "" {
			t.Errorf("a watcher that keeps no sessions: %v", err)
		}
		h.beat.Features = append(h.beat.Features, delegation.FeatureSessions)
		h.sendBeat()
		if _, err := m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}); !errors.Is(err, ErrNoRun) {
			t.Errorf("a subagent that nobody knows, of a profile without an agent: %v", err)
		}
		for id, o := range map[string]SpawnOptions{
			"s3": {Task: "on", SessionID: "session-0"}, // the profile's command may know it
			"s4": {Task: "on", Workspace: t.TempDir()},
		} {
			o.ID = id
			must(m.Continue(t.Context(), o))
		}
		h.beat.Profiles[0].Agent = "claude"
		h.sendBeat()
		must(m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "on"}))
		if req := h.requestOf("s1"); req.SessionID.String() != delegation.SessionLast || req.Workspace != "workspaces/s1" || !req.Profile.IsZero() {
			t.Errorf("the request is %+v", req)
		}
		if _, err := m.Continue(t.Context(), SpawnOptions{ID: "../s1", Task: "on"}); !errors.As(err, &refusal) || refusal.Code != delegation.CodeBadID {
			t.Errorf("a bad id: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Continue(gone, SpawnOptions{ID: "s2", Task: "on"}); err == nil {
			t.Error("a context that has ended is no reason to stop")
		}
	})
}
