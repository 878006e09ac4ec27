package watcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/workspace"
)

// left runs a program that leaves something in its workspace, and returns the response.
func (d *desk) left(write func(dir string)) (resp delegation.Response, dir string) {
	d.Helper()
	d.world.Register("leave", func(_ context.Context, io sandboxtest.ProgramIO) int {
		write(filepath.Join(d.outbox, "workspaces", filepath.Base(io.Dir)))
		return 0
	})
	a := d.submit(ask{id: "s1", task: "leave"})
	resp = d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	return resp, a.workspace
}

// warned checks that one warning has all of these words.
func (d *desk) warned(resp delegation.Response, words ...string) {
	d.Helper()
	for _, warning := range resp.Warnings {
		all := true
		for _, word := range words {
			all = all && strings.Contains(warning, word)
		}
		if all {
			return
		}
	}
	d.Errorf("no warning has %q: %q", words, resp.Warnings)
}

func TestWhatIsLeftIsSaid(t *testing.T) {
	d := newDesk(t, nil)
	tool := ""
	resp, dir := d.left(func(dir string) {
		tool = filepath.Join(dir, "bin", "tool")
		d.write(tool, 1)
		d.must(os.Chmod(tool, 0o755|os.ModeSetuid))
		for i := range 8 {
			d.must(os.Symlink("/etc/passwd", filepath.Join(dir, numbered("out", i))))
		}
		d.must(os.Symlink("bin/tool", filepath.Join(dir, "in")))
		d.must(unix.Mkfifo(filepath.Join(dir, "pipe\x1b[2J\n\u202e"), 0o644))
	})
	d.warned(resp, "set-id", `"bin/tool"`)
	d.warned(resp, "symbolic links", "and 3 more")
	d.warned(resp, "named pipes", `"pipe\x1b[2J\n\u202e"`)
	if len(resp.Warnings) != 3 {
		t.Errorf("it says %q", resp.Warnings)
	}
	if info, err := os.Stat(tool); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("the bit is still there in %s: %v, %v", dir, info.Mode(), err)
	}
}

func TestNothingLeftIsNoWarning(t *testing.T) {
	d := newDesk(t, nil)
	resp, dir := d.left(func(dir string) {
		d.write(filepath.Join(dir, "a/b"), 10)
		d.must(os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "absolute")))
	})
	if len(resp.Warnings) != 0 {
		t.Errorf("in %s, it says %q", dir, resp.Warnings)
	}
}

// TestMuchIsLookedAtBehindTheAnswer: the answer says that a part was seen, and the bits of the rest are cleared all the same.
func TestMuchIsLookedAtBehindTheAnswer(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Timing.Look = tree.Bounds{Entries: 4} })
	var tools []string
	resp, _ := d.left(func(dir string) {
		for i := range 20 {
			tools = append(tools, filepath.Join(dir, numbered("tool", i)))
			d.write(tools[i], 1)
			d.must(os.Chmod(tools[i], 0o755|os.ModeSetgid))
		}
	})
	d.warned(resp, "Only a part")
	d.eventually("all bits are cleared", func() bool {
		for _, tool := range tools {
			info, err := os.Stat(tool)
			d.must(err)
			if info.Mode()&os.ModeSetgid != 0 {
				return false
			}
		}
		return true
	})
}

// unseen is a workspace that grows between the looks.
type unseen struct{ workspace.Directory }

func (unseen) Measure(context.Context, tree.Bounds) (tree.Usage, error) { return tree.Usage{}, nil }

func TestARunThatEndsOverItsLimitIsTold(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		limited(mib, 100)(c)
		c.Workspaces = func(spec sandbox.Spec) (workspace.Directory, error) {
			held, err := heldByName(spec)
			return unseen{held}, err
		}
	})
	resp, _ := d.left(func(dir string) { d.write(filepath.Join(dir, "big"), 3*mib) })
	d.warned(resp, "over its limit", "The next run in it will be ended")
}

// TestARunWithoutAnAgentLeavesNothing: before init has started the agent nothing of the workspace is the child's.
func TestARunWithoutAnAgentLeavesNothing(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Fail(sandboxtest.OpInit, 1, context.DeadlineExceeded)
	dir := filepath.Join(d.outbox, "workspaces", "s1")
	d.must(os.MkdirAll(dir, 0o755))
	d.must(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	resp := d.response(d.submit(ask{id: "s1", task: "echo", workspace: dir}))
	if resp.Reason != delegation.ReasonLaunchFailed || len(resp.Warnings) != 0 {
		t.Errorf("it says %s, %q", resp.Reason, resp.Warnings)
	}
}
