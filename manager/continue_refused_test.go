package manager

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
)

// TestContinueAfterARefusal goes on with the profile of the run before. The response of a run that was refused early
// names none.
func TestContinueAfterARefusal(t *testing.T) {
	for name, end := range map[string]func(*Run){
		"taken": func(run *Run) { must(take(t.Context(), run)) },
		"there": func(*Run) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.beat.Features = append(h.beat.Features, delegation.FeatureSessions)
				h.beat.Profiles[1].Agent = "massgen"
				h.sendBeat()
				m := h.client(Options{})
				first := h.spawn(m, SpawnOptions{ID: "s1", Profile: "massgen"})
				h.respond(first, func(r *delegation.Response) { r.Profile, r.SessionID = "massgen", "session-1" })
				must(take(t.Context(), first))
				second := must(m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "go on"}))
				h.respond(second, func(r *delegation.Response) {
					r.Status, r.Reason, r.ExitCode, r.StartedAt = delegation.StatusError, delegation.ReasonRefused, -1, time.Time{}
					r.Error = &delegation.Refusal{Code: delegation.CodeTreeLimit, Text: "no room", Hint: "ask again later"}
				})
				end(second)
				must(m.Continue(t.Context(), SpawnOptions{ID: "s1", Task: "go on", Replace: true}))
				if asked := h.requestOf("s1"); asked.Profile.String() != "massgen" {
					t.Errorf("it goes on with profile %q", asked.Profile)
				}
			})
		})
	}
}

// TestARefusalKeepsTheCopy: the result of a run that was refused early names the copy that the child has, although the
// first profile gives none.
func TestARefusalKeepsTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, own := newHost(t), t.TempDir()
		h.beat.Profiles[1].Workspace = delegation.WorkspaceCopy
		h.sendBeat()
		for _, name := range []string{"s1", delegation.BasePrefix + "s1"} {
			if err := os.MkdirAll(filepath.Join(h.path, Workspaces, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		m := h.client(Options{})
		run := h.spawn(m, SpawnOptions{ID: "s1", Profile: "massgen", Workspace: own})
		h.respond(run, func(r *delegation.Response) {
			r.Status, r.Reason, r.ExitCode, r.StartedAt = delegation.StatusError, delegation.ReasonRefused, -1, time.Time{}
			r.Error = &delegation.Refusal{Code: delegation.CodeTreeLimit, Text: "no room", Hint: "ask again later"}
		})
		result := must(take(t.Context(), run))
		if result.Workspace != h.join("workspaces/s1") || result.Original != own {
			t.Errorf("it worked in %s, a copy of %q", result.Workspace, result.Original)
		}
		if origin := m.OriginOf("s1"); origin != own {
			t.Errorf("what was copied is %q", origin)
		}
	})
}
