package watcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/test/attack"
	"torno/test/hungfs"
	"torno/watcher/hang"
	"torno/watcher/workspace"
)

// hangingDesk is a desk whose workspaces lie on a file system that can be made to hang. It does so at the look before an
// answer, while atLook is set.
type hangingDesk struct {
	*desk
	fs     *hungfs.FS
	root   string
	atLook atomic.Bool
}

func newHangingDesk(t *testing.T) *hangingDesk {
	t.Helper()
	h := &hangingDesk{}
	h.desk = newDesk(t, func(c *Config) {
		shortGrace(c)
		c.Shutdown.Budget = time.Hour
		h.root = filepath.Join(c.Outboxes[0].Policy.Dir, "workspaces")
		h.fs = hungfs.Mount(t, h.root, "s1", "s2", "s3", "s4", "s5", "s6", "s7")
		c.Workspaces = func(spec sandbox.Spec) (workspace.Directory, error) {
			held, err := heldByName(spec)
			return hangsAtLook{held, h}, err
		}
	})
	// The watcher ends before the file system does: what waits for it must not be what lets the watcher end.
	t.Cleanup(func() { h.returns("the watcher", h.stop, h.fs.Abort); h.fs.Abort() })
	return h
}

// hangsAtLook is a workspace whose file system hangs from the look after the agent's end on.
type hangsAtLook struct {
	workspace.Directory
	desk *hangingDesk
}

func (w hangsAtLook) Inspect(ctx context.Context, bounds tree.Bounds, own ...string) (tree.Findings, error) {
	if w.desk.atLook.Load() {
		w.desk.fs.Hang()
	}
	return w.Directory.Inspect(ctx, bounds, own...)
}

// TestAHungFileSystemHoldsNoAnswer has the file system stop when the agent has ended: the answer comes, and says that nothing
// was looked at. The oracle is the same look without anything that leaves it.
func TestAHungFileSystemHoldsNoAnswer(t *testing.T) {
	h := newHangingDesk(t)
	h.atLook.Store(true)
	resp := h.response(h.submit(ask{id: "s1", task: "echo"}))
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.warned(resp, "Only a part")
	oracle := stays(t, h.fs, filepath.Join(h.root, "s2"))
	h.returns("the shutdown", h.stop, h.fs.Abort)
	attack.Record(t, attack.Trial{Row: "L7", Where: "the answer", Tried: 1, Held: heldOff(t), Oracle: oracle})
}

// heldOff is 1 unless the test has failed.
func heldOff(t *testing.T) int {
	if t.Failed() {
		return 0
	}
	return 1
}

// stays says whether a plain look at a directory is still there when a look of ours would have been left.
func stays(t *testing.T, fs *hungfs.FS, path string) bool {
	t.Helper()
	over := make(chan struct{})
	go func() {
		_, _ = os.ReadDir(path)
		close(over)
	}()
	t.Cleanup(func() { fs.Abort(); <-over })
	select {
	case <-over:
		return false
	case <-time.After(workspace.HangTime + workspace.Calls.Yield):
		return true
	}
}

// TestAHungFileSystemHoldsNoShutdown stops the watcher while a look hangs. The run is answered all the same.
func TestAHungFileSystemHoldsNoShutdown(t *testing.T) {
	h := newHangingDesk(t)
	h.atLook.Store(true)
	a := h.submit(ask{id: "s1", task: "echo"})
	select {
	case <-h.fs.Waits():
	case <-time.After(patience):
		t.Fatal("nobody looks at the workspace")
	}
	h.returns("the shutdown", h.stop, h.fs.Abort)
	h.want(h.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	oracle := stays(t, h.fs, filepath.Join(h.root, "s2"))
	attack.Record(t, attack.Trial{Row: "L7", Where: "the shutdown", Tried: 1, Held: heldOff(t), Oracle: oracle})
}

// deafLauncher is a launcher that waits for something and hears nothing meanwhile, as in a call to a file system that hangs.
type deafLauncher struct {
	sandbox.Launcher
	waits, let chan struct{}
}

func (l *deafLauncher) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	close(l.waits)
	<-l.let
	return sandbox.Handle{}, sandbox.ErrUnavailable
}

// TestAHungFileSystemHoldsNoCancel has the file system stop when the launcher is about to open the workspace. The cancel is
// answered while that call still hangs, and the run's slot is free.
func TestAHungFileSystemHoldsNoCancel(t *testing.T) {
	h := newHangingDesk(t)
	h.world.Before(sandboxtest.OpCreate, sync.OnceFunc(h.fs.Hang))
	a := h.submit(ask{id: "s1", task: "echo never"})
	select {
	case <-h.fs.Waits():
	case <-time.After(patience):
		t.Fatal("nobody opens the workspace")
	}
	h.touch("cancel_s1")
	h.want(h.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if h.watcher.runs.Hung() != 1 {
		t.Error("no call was left behind: the oracle is dead")
	}
	h.eventually("its slot is free", func() bool {
		running, _ := h.watcher.schedule.Load(t.Context(), h.watcher.boxes[0].Name)
		return running == 0
	})
	oracle := stays(t, h.fs, filepath.Join(h.root, "s2"))
	h.fs.Abort()
	h.eventually("the call is back", func() bool { return h.watcher.runs.Hung() == 0 })
	h.empty()
	attack.Record(t, attack.Trial{Row: "L7", Where: "the launch", Tried: 1, Held: heldOff(t), Oracle: oracle})
}

// TestWhatNeverEndsIsLeftBehind: a launcher's call that no context ends keeps one run, and no shutdown.
func TestWhatNeverEndsIsLeftBehind(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		c.Shutdown.Budget, c.Timing.Last, c.Timing.Leave = time.Second, time.Second, time.Second
	})
	d.stop()
	stuck := &deafLauncher{waits: make(chan struct{}), let: make(chan struct{})}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher {
		stuck.Launcher = l
		return stuck
	}
	d.open()
	d.submit(ask{id: "s1", task: "echo"})
	<-stuck.waits
	over := make(chan struct{})
	go func() {
		d.kill()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(patience):
		t.Error("the watcher waits for ever")
	}
	close(stuck.let)
	<-over
	if !errors.Is(d.result, ErrLeftBehind) {
		t.Error("it ended with", d.result)
	}
	d.watcher.runs.Wait()
	d.must(d.journal.Close())
	d.stop = func() {}
}

// TestCallsThatHangAreFew: requests name workspaces on a file system that hangs. The first two make all calls that may hang, two
// each, and the others none. Each is answered.
func TestCallsThatHangAreFew(t *testing.T) {
	d := newHangingDesk(t)
	d.response(d.submit(ask{id: "s7", task: "echo"}))
	d.fs.Hang()
	for _, together := range [][]string{{"s1", "s2"}, {"s3"}, {"s4", "s5", "s6"}} {
		asks := make([]ask, 0, len(together))
		for _, id := range together {
			asks = append(asks, d.submit(ask{id: id, task: "echo", workspace: filepath.Join(d.root, id)}))
		}
		for _, a := range asks {
			resp := d.response(a)
			d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
			if !strings.Contains(resp.StderrTail, workspace.ErrHangs.Error()) {
				t.Errorf("it says %q", resp.StderrTail)
			}
		}
	}
	if left := d.watcher.hangs.Left(); left != hang.Most {
		t.Errorf("%d calls were left behind", left)
	}
	d.fs.Abort() // they all fail, and the root is asked again
	d.eventually("no call waits", func() bool { return d.watcher.hangs.Left() == 0 })
}
