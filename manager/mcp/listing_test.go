package mcp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/manager"
)

// TestStatusOfAllIsMadeOncePerListing: calls share one answer while the listing is fresh, and no call gets an older one.
func TestStatusOfAllIsMadeOncePerListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.beat(nil)
		m, err := manager.New(s.path, manager.Options{})
		s.check(err)
		defer m.Close()
		server, err := New(m, Options{Env: func(string) string { return "" }})
		s.check(err)
		_, err = m.Spawn(t.Context(), manager.SpawnOptions{ID: "a", Task: "x"})
		s.check(err)
		overview := func() answer {
			all, err := server.overview(t.Context())
			s.check(err)
			return all
		}
		wants := func(part string) {
			t.Helper()
			if said := overview().say(); !strings.Contains(said, part) {
				t.Errorf("%q is not in %q", part, said)
			}
		}
		first := overview()
		s.status("a", delegation.RunStatus{State: delegation.StateStarting})
		time.Sleep(defaultFresh - time.Millisecond)
		if overview() != first {
			t.Error("the answer was made again, and the listing is fresh")
		}
		if allocations := testing.AllocsPerRun(100, func() { overview() }); allocations > 0 {
			t.Errorf("a call takes %v pieces of memory", allocations)
		}
		time.Sleep(time.Millisecond)
		wants("a: starting")
		s.status("a", delegation.RunStatus{State: delegation.StateRunning})
		server.changed()
		wants("a: running")
		s.beat(func(b *delegation.Heartbeat) { b.Stopped = true })
		time.Sleep(defaultFresh)
		wants("nobody is serving")
	})
}

// TestStatusOfAllHasWhatTheClientDid: however long a listing is fresh, it is not older than the last deed of ours.
func TestStatusOfAllHasWhatTheClientDid(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{Fresh: time.Hour})
	wants := func(part string) {
		t.Helper()
		if said := p.tool("status", `{}`); !strings.Contains(string(said.Struct), part) {
			t.Errorf("%s is not in %s", part, said.Struct)
		}
	}
	wants(`"subagents":[]`)
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	wants(`"children":1`)
	s.end("a", delegation.Response{
		Status: delegation.StatusCompleted, Reason: delegation.ReasonExited, Usage: &delegation.Usage{Model: &delegation.ModelUsage{InputTokens: 7}},
	}, "yes")
	p.tool("wait", `{}`)
	wants(`"result_given":true`)
	wants(`"tokens_spent":7`)
}
