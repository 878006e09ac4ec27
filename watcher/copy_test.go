package watcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/test/missing"
	"torno/watcher/workspace"
)

// copier is a desk whose profile gives each child a copy, with a project that is copied.
type copier struct {
	*desk
	project string
}

func newCopier(t *testing.T, change func(*Config)) *copier {
	t.Helper()
	c := &copier{}
	c.desk = newKeeper(t, func(config *Config) {
		policy := &config.Outboxes[0].Policy
		policy.Profiles[0].Workspace = compile.WorkspaceCopy
		c.project = filepath.Join(policy.Dir, "workspaces", "project")
		if change != nil {
			change(config)
		}
	})
	c.must(os.MkdirAll(filepath.Join(c.project, ".git", "hooks"), 0o755))
	for path, content := range map[string]string{"main.go": "package main\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/post-checkout": "evil"} {
		c.must(os.WriteFile(filepath.Join(c.project, path), []byte(content), 0o644))
	}
	return c
}

// copyOf is a path in the copy of a subagent.
func (c *copier) copyOf(id, path string) string {
	return filepath.Join(c.outbox, "workspaces", id, path)
}

func (c *copier) holds(path, want string) {
	c.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		c.Errorf("%s holds %q, %v; wanted %q", path, data, err, want)
	}
}

func (c *copier) refused(a ask, text string) {
	c.Helper()
	resp := c.response(a)
	if resp.Reason != delegation.ReasonRefused || !strings.Contains(resp.StderrTail+resp.Error.Hint, text) {
		c.Errorf("it is %s: %q, %+v", resp.Reason, resp.StderrTail, resp.Error)
	}
}

// TestAChildWorksInACopy: it is made before the sandbox, what is written there is not written in the original, the parent has beside it what
// the child was given, and the subagent's next run goes on in it.
func TestAChildWorksInACopy(t *testing.T) {
	c := newCopier(t, nil)
	a := c.submit(ask{id: "s1", task: "gated", workspace: c.project})
	c.started(a)
	c.holds(c.copyOf("s1", "main.go"), "package main\n")
	c.must(os.WriteFile(c.copyOf("s1", "main.go"), []byte("changed\n"), 0o644))
	c.holds(filepath.Join(c.project, "main.go"), "package main\n")
	c.holds(filepath.Join(c.outbox, "workspaces", delegation.BasePrefix+"s1", "main.go"), "package main\n")
	if c.exists("workspaces/s1/.git/hooks") || !c.exists("workspaces/s1/.git/HEAD") || c.exists("workspaces/"+delegation.BasePrefix+"s1/.git") {
		t.Error("the git directory is not as it should be")
	}
	other := c.submit(ask{id: "s2", task: "gated", workspace: c.project})
	c.started(other) // although they ask for the same workspace
	c.submit(ask{id: "s1", request: "second", task: "echo", workspace: c.project})
	second := ask{id: "s1", request: "second"}
	if resp := c.response(second); !strings.Contains(strings.Join(resp.Warnings, "\n"), "in a copy") {
		t.Errorf("its warnings are %q", resp.Warnings)
	}
	c.holds(c.copyOf("s1", "main.go"), "changed\n")
}

// TestAnotherDirectoryIsNoCopy: what lies at the copy's place, or was copied from another directory, is not worked in.
func TestAnotherDirectoryIsNoCopy(t *testing.T) {
	c := newCopier(t, nil)
	c.must(os.Mkdir(c.copyOf("s1", ""), 0o755))
	c.refused(c.submit(ask{id: "s1", task: "echo", workspace: c.project}), "not a copy of this one")
	c.response(c.submit(ask{id: "s2", task: "echo", workspace: c.project}))
	second := filepath.Join(c.outbox, "workspaces", "second")
	c.must(os.Mkdir(second, 0o755))
	c.refused(c.submit(ask{id: "s2", request: "again", task: "echo", workspace: second}), "not a copy of this one")
	c.must(os.Rename(c.copyOf("s2", ""), c.copyOf("moved", "")))
	c.must(os.Rename(second, c.copyOf("s2", "")))
	c.refused(c.submit(ask{id: "s2", request: "third", task: "echo", workspace: c.project}), "not a copy of this one")
	own := c.response(c.submit(ask{id: "s3", task: "echo"})) // its own workspace needs no copy
	if own.Reason != delegation.ReasonExited || len(own.Warnings) > 0 {
		t.Errorf("it is %s, %q", own.Reason, own.Warnings)
	}
}

// TestACopyThatIsTooMuchIsRefused, and nothing of it stays.
func TestACopyThatIsTooMuchIsRefused(t *testing.T) {
	c := newCopier(t, func(config *Config) { config.Outboxes[0].Policy.Profiles[0].Limits.WorkspaceFiles = 3 })
	for _, name := range []string{"a", "b", "c"} {
		c.must(os.WriteFile(filepath.Join(c.project, name), nil, 0o644))
	}
	c.refused(c.submit(ask{id: "s1", task: "echo", workspace: c.project}), "more than 3 entries")
	c.nothingLeaves()
	if c.exists("workspaces/s1") {
		t.Error("a part of a copy is there")
	}
}

// slowCopy is a workspace whose copies wait for their context, as on a file system that hangs.
type slowCopy struct {
	workspace.Directory
	began chan<- struct{}
	until <-chan struct{}
}

func (s slowCopy) CopyTo(ctx context.Context, to *os.File, bounds tree.CopyBounds) (tree.Copied, error) {
	copied, err := s.Directory.CopyTo(ctx, to, bounds)
	s.began <- struct{}{}
	<-s.until
	return copied, err
}

// slow has the first copies of the desk hang until release.
func slow(config *Config) (began chan struct{}, release func()) {
	began, until := make(chan struct{}, 9), make(chan struct{})
	open := config.Workspaces
	config.Workspaces = func(spec sandbox.Spec) (workspace.Directory, error) {
		dir, err := open(spec)
		if err != nil {
			return nil, err
		}
		return slowCopy{dir, began, until}, nil
	}
	return began, func() { close(until) }
}

// TestACopyThatHangsHoldsNothingUp: a cancel and another outbox's runs go their way; what comes back late is no workspace of a run that is over
// for good.
func TestACopyThatHangsHoldsNothingUp(t *testing.T) {
	var began chan struct{}
	var release func()
	c := newCopier(t, func(config *Config) { began, release = slow(config) })
	a := c.submit(ask{id: "s1", task: "echo", workspace: c.project})
	<-began
	c.want(c.response(c.submit(ask{id: "free", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	c.touch("cancel_s1")
	c.want(c.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	release()
	c.nothingLeaves()
	if c.exists("workspaces/s1") || len(c.world.Sandboxes()) != 1 {
		t.Error("a cancelled copy was gone on with")
	}
}

// TestAWatcherThatDiesInACopy leaves a half of it, which the next one removes, and makes a whole one.
func TestAWatcherThatDiesInACopy(t *testing.T) {
	var began chan struct{}
	var release func()
	var open func(sandbox.Spec) (workspace.Directory, error)
	c := newCopier(t, func(config *Config) { open = config.Workspaces; began, release = slow(config) })
	a := c.submit(ask{id: "s1", task: "echo", workspace: c.project})
	<-began
	c.crash(release)
	half := false
	for _, name := range c.names(filepath.Join(c.outbox, "workspaces")) {
		half = half || strings.HasPrefix(name, ".torno-copy-")
	}
	if !half {
		t.Fatal("it left nothing")
	}
	c.config.Workspaces = open
	c.open()
	c.want(c.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	c.holds(c.copyOf("s1", "main.go"), "package main\n")
	c.eventually("the half is gone", func() bool {
		for _, name := range c.names(filepath.Join(c.outbox, "workspaces")) {
			if strings.HasPrefix(name, ".torno-copy-") {
				return false
			}
		}
		return true
	})
}

// TestWhatACopyIsComparedWithCounts among what its workspace holds, also after later runs.
func TestWhatACopyIsComparedWithCounts(t *testing.T) {
	c := newCopier(t, nil)
	const long = 1 << 20
	c.must(os.WriteFile(filepath.Join(c.project, "long"), make([]byte, long), 0o644))
	for _, a := range []ask{{id: "s1", workspace: c.project}, {id: "s1", request: "again", workspace: c.project}} {
		c.done(a)
		if w := c.collect(control.Collect{DryRun: true})["s1"]; w.Bytes < 2*long || w.Bytes >= 3*long {
			t.Errorf("it says %d bytes", w.Bytes)
		}
	}
}

// TestACopyIsCollected, with what the child was given, and the next copy of the subagent's is a new one.
func TestACopyIsCollected(t *testing.T) {
	c := newCopier(t, nil)
	c.done(ask{id: "s1", workspace: c.project})
	c.must(os.WriteFile(c.copyOf("s1", "main.go"), []byte("changed\n"), 0o644))
	if w := c.collect(control.Collect{})["s1"]; !w.Removed || !w.Made {
		t.Fatalf("it says %+v", w)
	}
	c.nothingLeaves()
	c.done(ask{id: "s1", request: "again", workspace: c.project})
	c.holds(c.copyOf("s1", "main.go"), "package main\n")
	c.must(os.RemoveAll(c.copyOf("s1", ""))) // as a parent may
	c.done(ask{id: "s1", request: "third", workspace: c.project})
	c.holds(filepath.Join(c.outbox, "workspaces", delegation.BasePrefix+"s1", "main.go"), "package main\n")
}

// TestWhatACopyWasMadeInIsItsOwners: a directory of another user's that took the name of a half copy is not emptied with root's rights.
func TestWhatACopyWasMadeInIsItsOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "to give files to others takes root")
	}
	c := newCopier(t, nil)
	place := filepath.Join(c.outbox, "workspaces")
	c.must(os.Chown(place, 1000, 1000))
	trap := filepath.Join(place, ".torno-copy-trap")
	c.must(os.MkdirAll(filepath.Join(trap, "precious"), 0o755))
	other := filepath.Join(place, ".torno-copy-other") // it belongs to the owner of the workspaces, but is not the directory that was filled
	c.must(os.MkdirAll(filepath.Join(other, "precious"), 0o755))
	c.must(errors.Join(os.Chown(other, 1000, 1000), os.Chown(filepath.Join(other, "precious"), 1000, 1000)))
	project, err := os.Open(c.project)
	c.must(err)
	defer project.Close()
	filled, err := inode.Of(project)
	c.must(err)
	id, err := delegation.ParseSubagentID("s1")
	c.must(err)
	box := c.box("main")
	c.must(c.journal.PartWithWorkspace(t.Context(), journal.LeavingWorkspace{Workspace: journal.Workspace{Outbox: box, Subagent: id, Used: time.Now()}, Name: ".torno-copy-trap"}))
	c.must(c.journal.PartWithWorkspace(t.Context(), journal.LeavingWorkspace{Workspace: journal.Workspace{Outbox: box, Subagent: id, Directory: filled, Used: time.Now()}, Name: ".torno-copy-other"}))
	c.stop()
	c.open()
	c.eventually("it is not to be removed any more", func() bool {
		left, err := c.journal.LeavingWorkspaces(context.Background(), box)
		c.must(err)
		return len(left) == 0
	})
	for _, dir := range []string{trap, other} {
		if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
			t.Error(err)
		}
	}
}
