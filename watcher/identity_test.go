package watcher

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// refusedAsBusy asks for a workspace that is in use.
func (d *desk) refusedAsBusy(id, workspace string) {
	d.Helper()
	resp := d.response(d.submit(ask{id: id, task: "echo", workspace: workspace}))
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		d.Errorf("%s in %s: %+v", id, workspace, resp)
	}
}

// TestAWorkspaceIsRenamedWhileItIsInUse asks for it by its new name, for what lies in it, and for what lies above it. An
// empty directory at its old name is free.
func TestAWorkspaceIsRenamedWhileItIsInUse(t *testing.T) {
	for name, restart := range map[string]bool{"one watcher": false, "adopted": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.world.Register("stubborn", func(ctx context.Context, p sandboxtest.ProgramIO) int {
				p.Trap(sandbox.Interrupt, sandbox.Terminate)
				<-ctx.Done()
				return 0
			})
			root := filepath.Join(d.outbox, "workspaces")
			below := filepath.Join(root, "project", "s1", "below")
			d.must(os.MkdirAll(below, 0o755))
			a := d.submit(ask{id: "s1", task: "stubborn", workspace: filepath.Dir(below)})
			d.started(a)
			if restart {
				d.crash()
				d.open()
				d.eventually("the adopted run holds its workspace", func() bool { return d.watcher.runs.Running(d.latest("s1").Key).Holds() })
			}
			d.must(os.Rename(filepath.Join(root, "project"), filepath.Join(root, "moved")))
			d.refusedAsBusy("same", filepath.Join(root, "moved", "s1"))
			d.refusedAsBusy("below", filepath.Join(root, "moved", "s1", "below"))
			d.refusedAsBusy("above", filepath.Join(root, "moved"))
			d.must(os.MkdirAll(filepath.Join(root, "project", "s1"), 0o755))
			other := d.submit(ask{id: "other", task: "echo", workspace: filepath.Join(root, "project", "s1")})
			d.want(d.response(other), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.watcher.runs.Running(d.latest("s1").Key).EndNow(delegation.ReasonOperator)
			d.response(a)
			free := d.submit(ask{id: "free", task: "echo", workspace: filepath.Join(root, "moved", "s1")})
			d.want(d.response(free), delegation.StatusCompleted, delegation.ReasonExited, 0)
		})
	}
}

// TestTwoOutboxesReachOneWorkspace: the second outbox lies elsewhere, and its root leads to the first one's workspaces.
func TestTwoOutboxesReachOneWorkspace(t *testing.T) {
	d := newDesk(t, nil)
	second := d.newOutbox("second")
	d.stop()
	settings := d.settings("second", second)
	settings.Policy.Allow = d.config.Outboxes[0].Policy.Allow
	d.config.Outboxes = append(d.config.Outboxes, settings)
	d.open()
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	moved := a.workspace + "-moved"
	d.must(os.Rename(a.workspace, moved))
	resp := d.response(d.submit(ask{id: "s2", task: "echo", workspace: moved, outbox: second}))
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("the other outbox's: %+v", resp)
	}
}

// TestAWorkspaceIsExchangedWhileItsRunWaits: two runs wait with workspaces of their own, and the name of the second one's
// leads to the first one's when its turn comes.
func TestAWorkspaceIsExchangedWhileItsRunWaits(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 2 })
	release := d.gate()
	defer release()
	one := d.submit(ask{id: "one", task: "gated"})
	two := d.submit(ask{id: "two", task: "sleep"})
	d.started(one)
	d.started(two)
	waits := d.submit(ask{id: "waits", task: "echo"})
	d.eventually("it waits", func() bool { return d.status("waits").State == delegation.StateQueued })
	d.must(os.Remove(waits.workspace))
	d.must(os.Rename(one.workspace, waits.workspace))
	d.touch("cancel_two")
	d.response(two)
	resp := d.response(waits)
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("in the other's workspace: %+v", resp)
	}
}

// TestAWorkspaceIsMovedIntoAnotherOne: a run works in a directory, and its parent moves that into a second one and asks for the
// second one.
func TestAWorkspaceIsMovedIntoAnotherOne(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	defer release()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	second := filepath.Join(d.outbox, "workspaces", "second")
	d.must(os.MkdirAll(second, 0o755))
	d.must(os.Rename(a.workspace, filepath.Join(second, "s1")))
	d.refusedAsBusy("s2", second)
	release()
	d.response(a)
	d.eventually("nobody works there", func() bool { return d.watcher.runs.Running(d.latest("s1").Key) == nil })
	b := d.submit(ask{id: "s3", task: "echo", workspace: second})
	d.want(d.response(b), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
