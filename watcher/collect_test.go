package watcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/watcher/collect"
	"torno/watcher/session"
)

// keeper is a desk whose watcher removes what clients made and nothing needs, as soon as an operator asks.
func newKeeper(t *testing.T, change func(*Config)) *desk {
	t.Helper()
	d := newDesk(t, func(c *Config) {
		c.Collect = collect.Rule{Which: collect.Made, Age: time.Nanosecond}
		policy := &c.Outboxes[0].Policy
		policy.Read = []compile.Root{compile.Root(filepath.Join(policy.Dir, "workspaces"))}
		if change != nil {
			change(c)
		}
	})
	open := make(chan struct{})
	d.world.Register("gated", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		select {
		case <-open:
		case <-ctx.Done():
		}
		return 0
	})
	t.Cleanup(func() { close(open) })
	return d
}

// done has a subagent run and its answer taken.
func (d *desk) done(a ask) ask {
	d.Helper()
	a.task = cmpOr(a.task, "echo")
	a = d.submit(a)
	d.ended(a)
	d.remove("request_" + a.id + ".json")
	d.eventually("the answer goes with its request", func() bool { return !d.exists("response_" + a.id + ".json") })
	return a
}

// collect asks as an operator does, and returns what is said of each subagent.
func (d *desk) collect(ask control.Collect) map[string]control.Workspace {
	d.Helper()
	all, err := (&Operator{Journal: d.journal, Watcher: d.watcher}).Collect(d.Context(), ask)
	d.must(err)
	of := make(map[string]control.Workspace)
	for _, w := range all {
		of[w.Subagent] = w
	}
	return of
}

func (d *desk) workspaceIs(id string, there bool) {
	d.Helper()
	if is := d.exists("workspaces/" + id); is != there {
		d.Errorf("the workspace of %s is there: %t", id, is)
	}
}

func (d *desk) nothingLeaves() {
	d.Helper()
	d.eventually("nothing is left of what was removed", func() bool {
		for _, name := range d.names(filepath.Join(d.outbox, "workspaces")) {
			if strings.HasPrefix(name, ".torno-") {
				return false
			}
		}
		left, err := d.journal.LeavingWorkspaces(context.Background(), d.box("main"))
		d.must(err)
		return len(left) == 0
	})
}

// TestWorkspacesAreCollected: one that its client made, when its answer was taken. What is in it goes, and what its links lead to stays.
func TestWorkspacesAreCollected(t *testing.T) {
	d := newKeeper(t, nil)
	a := d.done(ask{id: "s1", made: true})
	beside := filepath.Join(d.outbox, "beside")
	d.must(os.WriteFile(beside, []byte("kept"), 0o644))
	d.must(os.MkdirAll(filepath.Join(a.workspace, "deep/er"), 0o755))
	d.must(os.Symlink(beside, filepath.Join(a.workspace, "deep/link")))
	if w := d.collect(control.Collect{DryRun: true})["s1"]; w.Over == "" || w.Kept != "" || w.Removed {
		t.Errorf("a dry run says %+v", w)
	}
	d.workspaceIs("s1", true)
	if w := d.collect(control.Collect{})["s1"]; !w.Removed || !w.Made {
		t.Errorf("it says %+v", w)
	}
	d.workspaceIs("s1", false)
	d.nothingLeaves()
	if data, err := os.ReadFile(beside); err != nil || string(data) != "kept" {
		t.Errorf("what a link led to: %q, %v", data, err)
	}
	if all := d.collect(control.Collect{}); len(all) != 0 {
		t.Errorf("what is gone is told of: %v", all)
	}
	d.done(ask{id: "s1", request: "again", made: true})
	if w := d.collect(control.Collect{})["s1"]; !w.Removed {
		t.Errorf("of the next one it says %+v", w)
	}
}

// TestWhatIsReferencedStays: whatever the rule says. Each is removed when what needs it is gone.
func TestWhatIsReferencedStays(t *testing.T) {
	for name, c := range map[string]struct {
		need func(d *desk) // what needs the workspace of s1
		says string
	}{
		"its request": {func(d *desk) { d.ended(d.submit(ask{id: "s1", request: "two", task: "echo"})) }, "request"},
		"a run in it": {func(d *desk) {
			d.must(os.Mkdir(filepath.Join(d.outbox, "workspaces/s1/sub"), 0o755))
			d.running(d.submit(ask{id: "s2", task: "gated", workspace: filepath.Join(d.outbox, "workspaces/s1/sub")}))
		}, "a run uses it"},
		"a run of another in it": {func(d *desk) {
			d.running(d.submit(ask{id: "s2", task: "gated", workspace: filepath.Join(d.outbox, "workspaces/s1")}))
		}, "a run uses it"},
		"a run that waits for it": {func(d *desk) {
			d.running(d.submit(ask{id: "s0", task: "gated"}))
			a := d.submit(ask{id: "s2", task: "gated", workspace: filepath.Join(d.outbox, "workspaces/s1")})
			d.eventually("it waits", func() bool { return d.exists("status_" + a.id + ".json") })
		}, "a run uses it"},
		"a run that reads it": {func(d *desk) {
			d.running(d.submit(ask{id: "s2", task: "gated", context: filepath.Join(d.outbox, "workspaces/s1")}))
		}, "a run reads it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newKeeper(t, func(cfg *Config) {
				if name == "a run that waits for it" {
					cfg.MaxRunning, cfg.Outboxes[0].MaxRunning = 1, 1
				}
			})
			d.done(ask{id: "s1", made: true})
			c.need(d)
			if w := d.collect(control.Collect{})["s1"]; w.Removed || !strings.Contains(w.Kept, c.says) {
				t.Errorf("it says %+v", w)
			}
			d.workspaceIs("s1", true)
		})
	}
}

func (d *desk) running(a ask) {
	d.Helper()
	d.eventually(a.id+" runs", func() bool {
		r, ok, err := d.journal.Latest(context.Background(), d.box("main"), mustID(d, a.id))
		d.must(err)
		return ok && r.Request.String() == a.request && r.State == delegation.StateRunning
	})
}

// TestAParentsOwnWorkspaceStays, where it has the same place, and where it takes the place of one that a client made.
func TestAParentsOwnWorkspaceStays(t *testing.T) {
	d := newKeeper(t, nil)
	d.done(ask{id: "own"})
	made := d.done(ask{id: "s1", made: true})
	d.must(os.RemoveAll(made.workspace))
	d.must(os.Mkdir(made.workspace, 0o755))
	d.must(os.WriteFile(filepath.Join(made.workspace, "precious"), nil, 0o644))
	outside := filepath.Join(d.outbox, "workspaces", "elsewhere")
	d.must(os.Mkdir(outside, 0o755))
	d.done(ask{id: "liar", made: true, workspace: outside})
	all := d.collect(control.Collect{})
	if _, known := all["own"]; known {
		t.Errorf("a parent's own is told of: %v", all)
	}
	if _, known := all["liar"]; known {
		t.Errorf("a directory with another name is taken for one that a client made: %v", all)
	}
	for _, path := range []string{"own", "s1/precious", "elsewhere"} {
		d.workspaceIs(path, true)
	}
	if _, known := d.collect(control.Collect{})["s1"]; known {
		t.Error("it is not forgotten that a client made one with this name")
	}
	d.done(ask{id: "s1", request: "in the parent's own"})
	d.collect(control.Collect{})
	d.workspaceIs("s1/precious", true)
}

// TestARemovalGoesOn where a watcher died: before the workspace had its other name, and behind that.
func TestARemovalGoesOn(t *testing.T) {
	d := newKeeper(t, nil)
	for _, id := range []string{"kept", "begun", "other"} {
		d.done(ask{id: id, made: true})
	}
	all, err := d.journal.Workspaces(t.Context(), d.box("main"))
	d.must(err)
	d.stop()
	j := d.openJournal()
	place := filepath.Join(d.outbox, "workspaces")
	for _, w := range all {
		leaving := journal.LeavingWorkspace{Workspace: w, Name: ".torno-leaving-" + w.Subagent.String()}
		d.must(j.PartWithWorkspace(t.Context(), leaving))
		switch w.Subagent.String() {
		case "begun":
			d.must(os.Rename(filepath.Join(place, "begun"), filepath.Join(place, leaving.Name)))
			d.must(os.WriteFile(filepath.Join(place, leaving.Name, "file"), nil, 0o644))
		case "other": // something else has the name
			d.must(os.Rename(filepath.Join(place, "other"), filepath.Join(place, "aside")))
			d.must(os.Mkdir(filepath.Join(place, leaving.Name), 0o755))
			d.must(os.WriteFile(filepath.Join(place, leaving.Name, "precious"), nil, 0o644))
		}
	}
	d.must(j.Close())
	d.open()
	d.eventually("what was begun is done", func() bool {
		left, err := d.journal.LeavingWorkspaces(context.Background(), d.box("main"))
		d.must(err)
		return len(left) == 0
	})
	for path, there := range map[string]bool{"kept": true, ".torno-leaving-begun": false, ".torno-leaving-other": false, "other/precious": true, "aside": true} {
		d.workspaceIs(path, there)
	}
	if w := d.collect(control.Collect{})["kept"]; !w.Removed {
		t.Errorf("one that never left is not known any more: %+v", w)
	}
}

// TestTheRuleCountsWorkspaces: by number and by size the least recently used go, and no more of them than have to.
func TestTheRuleCountsWorkspaces(t *testing.T) {
	for name, rule := range map[string]collect.Rule{
		"number": {Which: collect.Made, Number: 2},
		"size":   {Which: collect.Made, Bytes: 100 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			d := newKeeper(t, func(c *Config) { c.Collect = rule })
			d.world.Register("fill", func(_ context.Context, p sandboxtest.ProgramIO) int {
				if err := os.WriteFile(filepath.Join(d.outbox, "workspaces", filepath.Base(p.Dir), "file"), make([]byte, 40<<10), 0o644); err != nil {
					return 1
				}
				return 0
			})
			for _, id := range []string{"one", "two", "three"} {
				a := d.submit(ask{id: id, made: true, task: "fill"})
				if r := d.ended(a); r.Usage == nil || r.Usage.WorkspaceBytes < 40<<10 {
					t.Errorf("its usage is %+v", r.Usage)
				}
				d.remove("request_" + id + ".json")
				d.eventually("the answer goes", func() bool { return !d.exists("response_" + id + ".json") })
			}
			all := d.collect(control.Collect{})
			if !all["one"].Removed || all["two"].Removed || all["three"].Removed {
				t.Errorf("it says %+v", all)
			}
		})
	}
}

// TestASessionKeepsItsWorkspace: a subagent that may go on finds its work where it left it. When the session is removed, the workspace may go.
func TestASessionKeepsItsWorkspace(t *testing.T) {
	state := t.TempDir()
	var sessions *session.Store
	d := newMinds(t, func(c *Config) {
		c.Collect = collect.Rule{Which: collect.Made, Age: time.Nanosecond}
		var err error
		if sessions, err = session.Open(state, session.Usual, time.Now, c.Log); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sessions.Close() })
		c.Sessions = sessions
	})
	a := d.submit(ask{id: "s1", request: "one", task: "first", profile: "mind", made: true})
	d.ended(a)
	d.remove("request_s1.json")
	d.eventually("the answer goes with its request", func() bool { return !d.exists("response_s1.json") })
	if !sessions.Keeps(d.box("main"), mustID(d, "s1")) {
		t.Fatal("no session is kept: nothing is tried")
	}
	if w := d.collect(control.Collect{})["s1"]; w.Removed || !strings.Contains(w.Kept, "a session is kept") {
		t.Errorf("it says %+v", w)
	}
	d.workspaceIs("s1", true)
	all, err := session.List(state)
	d.must(err)
	for _, r := range all {
		d.must(session.Remove(state, r.ID))
	}
	if w := d.collect(control.Collect{})["s1"]; !w.Removed {
		t.Errorf("without its session it says %+v", w)
	}
	d.workspaceIs("s1", false)
}
