package watcher

import (
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox/sandboxtest"
	"torno/watcher/workspace"
)

func tellsOfDisk(w *Watcher, outbox string) bool {
	return slices.ContainsFunc(w.notices.Of(outbox), func(n delegation.Notice) bool { return n.Code == delegation.NoticeDisk })
}

const gib = 1 << 30

// below gives a desk a disk that is full for the runs that begin while full is set.
func below(ws *fakeDisk) func(*Config) {
	return func(c *Config) {
		c.Floor = workspace.Floor{Bytes: gib}
		c.Workspaces = heldOn(ws)
	}
}

func TestNothingStartsOnAFullDisk(t *testing.T) {
	full := &fakeDisk{space: tree.Space{Bytes: gib - 1, Files: -1}}
	d := newDesk(t, below(full))
	a := d.submit(ask{id: "s1", task: "echo"})
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeDiskFull || !strings.Contains(resp.StderrTail, "1 GiB must stay free") {
		t.Errorf("it says %q, %+v", resp.StderrTail, resp.Error)
	}
	if d.world.Calls(sandboxtest.OpCreate) != 0 {
		t.Error("a sandbox was made")
	}
	if !tellsOfDisk(d.watcher, "main") {
		t.Error("nobody is told why")
	}
	full.set(func(f *fakeDisk) { f.space.Bytes = gib })
	d.remove("request_s1.json")
	d.eventually("the response is gone", func() bool { return !d.exists("response_s1.json") })
	d.want(d.response(d.submit(ask{id: "s1", request: "again", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestARunningRunIsEndedByTheFloor(t *testing.T) {
	disk := &fakeDisk{space: tree.Space{Bytes: 2 * gib, Files: -1}}
	d := newDesk(t, below(disk))
	a := d.submit(ask{id: "s1", task: "ignore-term"})
	d.started(a)
	disk.set(func(f *fakeDisk) { f.space.Bytes = gib / 2 })
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonWorkspaceLimit, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeDiskFull || !strings.Contains(resp.StderrTail, "512 MiB left") {
		t.Errorf("it says %q, %+v", resp.StderrTail, resp.Error)
	}
}
