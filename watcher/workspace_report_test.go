package watcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
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
type unseen struct{ Workspace }

func (unseen) Measure(context.Context, tree.Bounds) (tree.Usage, error) { return tree.Usage{}, nil }

func TestARunThatEndsOverItsLimitIsTold(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		limited(mib, 100)(c)
		c.Workspaces = func(spec sandbox.Spec) (Workspace, error) {
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
	workspace := filepath.Join(d.outbox, "workspaces", "s1")
	d.must(os.MkdirAll(workspace, 0o755))
	d.must(unix.Mkfifo(filepath.Join(workspace, "pipe"), 0o644))
	resp := d.response(d.submit(ask{id: "s1", task: "echo", workspace: workspace}))
	if resp.Reason != delegation.ReasonLaunchFailed || len(resp.Warnings) != 0 {
		t.Errorf("it says %s, %q", resp.Reason, resp.Warnings)
	}
}

// TestPace: an idle workspace is not looked at, a look of a second allows the next one after a hundred, or after ten when
// the disk has lost what is left of the limit.
func TestPace(t *testing.T) {
	const left = 10 * mib
	p := pace{
		limits: tree.Bounds{Bytes: 100 * mib, Entries: 1000}, space: tree.Space{Bytes: gib, Files: 5000}, looked: time.Now(),
		usage: tree.Usage{Bytes: 90 * mib, Seen: tree.Seen{Entries: 900}, Cost: time.Second},
	}
	space := func(bytes, files int64) tree.Space { return tree.Space{Bytes: bytes, Files: files} }
	for _, c := range []struct {
		what  string
		space tree.Space
		since time.Duration
		due   bool
	}{
		{"nothing changed", p.space, time.Hour, false},
		{"something changed, too early", space(gib-mib, 5000), 99 * time.Second, false},
		{"something changed", space(gib-mib, 5000), 100 * time.Second, true},
		{"much changed, too early", space(gib-left-1, 5000), 9 * time.Second, false},
		{"much changed", space(gib-left-1, 5000), 10 * time.Second, true},
		{"many files", space(gib, 4899), 10 * time.Second, true},
		{"others delete", space(2*gib, 9000), 100 * time.Second, true},
	} {
		if due := p.due(c.space, c.since); due != c.due {
			t.Errorf("%s: due is %t", c.what, due)
		}
	}
	if !(&pace{}).due(tree.Space{}, 0) {
		t.Error("the first look is not due")
	}
	if pause := (&pace{limits: limitsOf(sandbox.Limits{Workspace: 16 * gib})}).pause(); pause != 4*time.Second {
		t.Errorf("the first look comes after %s", pause)
	}
}
