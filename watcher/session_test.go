package watcher

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/session"
)

// newMinds is a desk with a profile whose agent keeps all of its tasks as its session, and answers with them. A task that is "wait"
// ends when it is told to, with what came before it kept.
func newMinds(t *testing.T, change func(*Config)) *desk {
	t.Helper()
	d := newDesk(t, func(c *Config) {
		state := t.TempDir()
		store, err := session.Open(state, session.Usual, time.Now, c.Log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		c.Sessions = store
		policy := &c.Outboxes[0].Policy
		mind := policy.Profiles[0]
		mind.Name, mind.Agent = "mind", "claude"
		policy.Profiles = append(policy.Profiles, mind)
		if change != nil {
			change(c)
		}
	})
	d.world.Register(runfile.Init, think)
	return d
}

// think is an adapter and its agent in one.
func think(ctx context.Context, p sandboxtest.ProgramIO) int {
	before, _ := p.ReadFile(sandbox.RunDir + "/" + sandbox.SessionFile)
	task, err := p.ReadFile(sandbox.RunDir + "/task")
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 1
	}
	all := append(before, append(task, ' ')...)
	for offset := 0; offset < len(all); offset += 5 {
		end := min(len(all), offset+5)
		line, err := agent.Encode(agent.Line{Kind: agent.Session, Part: &agent.Part{Bundle: 1, Offset: int64(offset), Data: all[offset:end], Last: end == len(all)}})
		if err != nil {
			fmt.Fprintln(p.Stderr, err)
			return 1
		}
		_, _ = p.Stdout.Write(line)
	}
	_ = p.WriteFile("told", all)
	if string(task) == "wait" {
		<-ctx.Done()
	}
	return 0
}

// thinks has a subagent do a task, and returns the answer to it.
func (d *desk) thinks(request, session, task string) delegation.Response {
	d.Helper()
	return d.response(d.submit(ask{id: "s1", request: request, task: task, profile: "mind", session: session}))
}

// TestASessionGoesOn: over watchers, and over the ends that a run can have. A run is answered when its session is kept.
func TestASessionGoesOn(t *testing.T) {
	d := newMinds(t, nil)
	first := d.thinks("r1", "", "one")
	d.want(first, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if first.SessionID == "" {
		t.Fatalf("the response is %+v", first)
	}
	stopped := d.submit(ask{id: "s1", request: "r2", task: "wait", profile: "mind", session: first.SessionID})
	d.started(stopped)
	d.crash()
	d.open()
	d.touch("cancel_s1")
	if resp := d.response(stopped); resp.Status != delegation.StatusCancelled || resp.SessionID != first.SessionID {
		t.Errorf("the cancelled run: %+v", resp)
	}
	third := d.submit(ask{id: "s1", request: "r3", task: "wait", profile: "mind", session: delegation.SessionLast})
	d.started(third)
	d.submit(ask{id: "s1", request: "r4", task: "four", profile: "mind", session: first.SessionID}) // takes the place of the third
	last := d.response(ask{id: "s1", request: "r4"})
	d.want(last, delegation.StatusCompleted, delegation.ReasonExited, 0)
	told, err := os.ReadFile(filepath.Join(d.outbox, "workspaces", "s1", "told"))
	if err != nil || string(told) != "one wait wait four " {
		t.Errorf("the last one was told %q, %v", told, err)
	}
}

// TestWhoCannotGoOn: each with the next step. What is decided early and what is decided late are refusals alike, and no sandbox is made.
func TestWhoCannotGoOn(t *testing.T) {
	d := newMinds(t, nil)
	refused := func(resp delegation.Response) {
		t.Helper()
		d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
		if resp.Error == nil || resp.Error.Code != delegation.CodeSession || resp.Error.Hint == "" {
			t.Errorf("it is told %+v", resp.Error)
		}
	}
	refused(d.thinks("r1", delegation.SessionLast, "on"))
	running := d.submit(ask{id: "s1", request: "r2", task: "wait", profile: "mind"})
	d.started(running)
	refused(d.thinks("r3", "session-of-another", "on")) // known when the one before is over
	if n := len(d.world.Sandboxes()); n != 1 {
		t.Errorf("%d sandboxes were made", n)
	}
	plain := d.response(d.submit(ask{id: "s2", task: "echo", session: "a-word"}))
	d.want(plain, delegation.StatusCompleted, delegation.ReasonExited, 0)
	none := newMinds(t, func(c *Config) { c.Sessions = nil })
	refused(none.thinks("r1", delegation.SessionLast, "on"))
	if resp := none.thinks("r2", "", "one"); resp.SessionID != "" {
		t.Errorf("a watcher that keeps none has kept %q", resp.SessionID)
	}
}
