package watcher

import (
	"encoding/json"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// TestARunIsTakenUpWhereItRan: another launcher may have a sandbox of the same run, of which nothing ran. Started in the
// place of the one that did, it would run the agent a second time.
func TestARunIsTakenUpWhereItRan(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.crash()
	d.other = sandboxtest.NewWorld(t)
	stray, bound := d.other.Launcher(d.journal.Installation()), d.world.Sandboxes()[0]
	_, err := stray.Create(t.Context(), bound, sandbox.Spec{Process: sandbox.Process{Argv: []string{"gated"}}})
	d.must(err)
	d.open()
	release()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Launcher != sandboxtest.LauncherName || len(d.other.Released()) != 0 {
		t.Errorf("it is answered by %s, and the other one ran %d times", resp.Launcher, len(d.other.Released()))
	}
	d.eventually("the other one is removed", func() bool {
		left, err := stray.List(t.Context())
		return err == nil && len(left) == 0
	})
	d.onceEach()
}

func TestOnlyTheNotedSandboxIsARuns(t *testing.T) {
	both := func() remains {
		return remains{"one": {"k": {Launcher: "one"}}, "two": {"k": {Launcher: "two"}}}
	}
	for _, launcher := range []string{"one", "two"} {
		left := both()
		h, there := left.take(journal.Run{Sandbox: "k", Handle: &sandbox.Handle{Launcher: launcher}})
		if _, again := left.take(journal.Run{Sandbox: "k", Handle: &sandbox.Handle{Launcher: launcher}}); !there || h.Launcher != launcher || again {
			t.Errorf("of %s it is %+v, %t, and there again: %t", launcher, h, there, again)
		}
	}
	left := both()
	if _, there := left.take(journal.Run{Sandbox: "k", Handle: &sandbox.Handle{Launcher: "three"}}); there {
		t.Error("another launcher's sandbox is taken for it")
	}
	for range 2 {
		if _, there := left.take(journal.Run{Sandbox: "k"}); !there {
			t.Error("what nobody noted is not found")
		}
	}
}

// TestWhatWasChosenIsSaid: by what a profile is launched, and why, is in watcher.json, in the status, and in refusals for
// want of a guarantee.
func TestWhatWasChosenIsSaid(t *testing.T) {
	const why = "docker does not enforce swap; gvisor does not enforce swap"
	d := newDesk(t, func(c *Config) {
		p := &c.Outboxes[0].Policy.Profiles[0]
		p.Chosen, p.AtLeast = why, []sandbox.GuaranteeKey{sandbox.SwapLimit}
	})
	d.world.Enforce(sandbox.SwapLimit, false, "it is not")
	var beat delegation.Heartbeat
	d.must(json.Unmarshal([]byte(d.text("watcher.json")), &beat))
	if len(beat.Profiles) != 1 || beat.Profiles[0].Chosen != why || beat.Profiles[0].Launcher != sandboxtest.LauncherName {
		t.Errorf("watcher.json offers %+v", beat.Profiles)
	}
	status, err := d.operator().Status(t.Context())
	if launcher, chosen := status.LauncherOf("sh", ""); err != nil || launcher != sandboxtest.LauncherName || chosen != why {
		t.Errorf("the status says %+v, %v", status.Profiles, err)
	}
	resp := d.response(d.submit(ask{id: "s1", task: "echo"}))
	d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error.Code != delegation.CodeNotEnforced || !strings.Contains(resp.StderrTail, why) {
		t.Errorf("the refusal is %+v: %s", resp.Error, resp.StderrTail)
	}
}
