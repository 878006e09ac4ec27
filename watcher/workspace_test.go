package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/workspace"
)

// heldByName opens the workspace by its path: these tests do not exchange the directories around it.
func heldByName(spec sandbox.Spec) (workspace.Directory, error) {
	src := spec.WorkspaceMount().Source
	f, err := os.Open(filepath.Join(src.Base, src.Rel))
	if err != nil {
		return nil, err
	}
	dir, err := tree.Reopen(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return namedWorkspace{dir, f}, nil
}

// namedWorkspace climbs by the name that the directory has by now. Names change when the test says so.
type namedWorkspace struct {
	*tree.Dir
	file *os.File
}

func (w namedWorkspace) Close() error { return errors.Join(w.file.Close(), w.Dir.Close()) }

func (w namedWorkspace) Above() (above []sandbox.Directory, err error) {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.file.Fd()))
	if err != nil {
		return nil, err
	}
	for at := name; ; at = filepath.Dir(at) {
		var st syscall.Stat_t
		if err := syscall.Stat(at, &st); err != nil {
			return nil, err
		}
		above = append(above, sandbox.Directory{Device: uint64(st.Dev), Inode: st.Ino})
		if at == filepath.Dir(at) {
			return above, nil
		}
	}
}

const mib = 1 << 20

// limited gives the desk's only profile limits for workspaces.
func limited(bytes, files int64) func(*Config) {
	return func(c *Config) {
		c.Outboxes[0].Policy.Profiles[0].Limits = sandbox.Limits{Workspace: bytes, WorkspaceFiles: files}
	}
}

// hoarder is a program that does something in its workspace and stays until it is killed.
func (d *desk) hoarder(write func(dir string)) {
	d.world.Register("hoard", func(ctx context.Context, io sandboxtest.ProgramIO) int {
		io.Trap(sandbox.Interrupt, sandbox.Terminate)
		write(filepath.Join(d.outbox, "workspaces", filepath.Base(io.Dir)))
		<-ctx.Done()
		return 0
	})
}

func (d *desk) write(path string, bytes int) {
	d.Helper()
	d.must(os.MkdirAll(filepath.Dir(path), 0o755))
	d.must(os.WriteFile(path, make([]byte, bytes), 0o644))
}

func TestARunOverItsLimitOfBytesIsEnded(t *testing.T) {
	d := newDesk(t, limited(mib, 100))
	d.hoarder(func(dir string) { d.write(filepath.Join(dir, "a/b/big"), 2*mib) })
	resp := d.response(d.submit(ask{id: "s1", task: "hoard"}))
	d.want(resp, delegation.StatusError, delegation.ReasonWorkspaceLimit, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceLimit || !strings.Contains(resp.StderrTail, "it holds 2") || !strings.Contains(resp.StderrTail, "1 MiB is the limit") {
		t.Errorf("it says %q, %+v", resp.StderrTail, resp.Error)
	}
	if signals := d.world.Calls(sandboxtest.OpSignal); signals != 1 {
		t.Errorf("it took %d signals; what fills the disk is killed by the first", signals)
	}
}

func TestARunOverItsLimitOfFilesIsEnded(t *testing.T) {
	d := newDesk(t, limited(100*mib, 20))
	d.hoarder(func(dir string) {
		for i := range 30 {
			d.write(filepath.Join(dir, numbered("f", i)), 0)
		}
	})
	resp := d.response(d.submit(ask{id: "s1", task: "hoard"}))
	d.want(resp, delegation.StatusError, delegation.ReasonWorkspaceLimit, -1)
	if !strings.Contains(resp.StderrTail, "more than 20 files") {
		t.Errorf("it says %q", resp.StderrTail)
	}
}

// swapped is a launcher that mounts another directory than the one that was there when the run was let in.
type swapped struct {
	sandbox.Launcher
	removed atomic.Int32
}

func (s *swapped) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	h, err := s.Launcher.Create(ctx, id, spec)
	h.Device, h.Inode = 1, 1
	return h, err
}

func (s *swapped) Remove(ctx context.Context, h sandbox.Handle) error {
	s.removed.Add(1)
	return s.Launcher.Remove(ctx, h)
}

func TestAWorkspaceThatIsNotTheMountedOneStartsNothing(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	launcher := &swapped{}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { launcher.Launcher = l; return launcher }
	d.open()
	resp := d.response(d.submit(ask{id: "s1", task: "echo"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeMountProof || launcher.removed.Load() == 0 {
		t.Errorf("it says %+v; removed %d", resp.Error, launcher.removed.Load())
	}
}

func TestAWorkspaceThatCannotBeHeldStartsNothing(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		c.Workspaces = func(sandbox.Spec) (workspace.Directory, error) { return nil, errors.New("no more handles") }
	})
	resp := d.response(d.submit(ask{id: "s1", task: "echo"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if !strings.Contains(resp.StderrTail, "no more handles") {
		t.Errorf("it says %q", resp.StderrTail)
	}
}

// heldOn holds what lies at a source, on a disk of our making.
func heldOn(disk *fakeDisk) func(sandbox.Spec) (workspace.Directory, error) {
	return func(spec sandbox.Spec) (workspace.Directory, error) {
		held, err := heldByName(spec)
		return onFake{held, disk}, err
	}
}

type onFake struct {
	workspace.Directory
	disk *fakeDisk
}

func (o onFake) Space() (tree.Space, error) { return o.disk.Space() }

// fakeDisk has as much free space as it is told.
type fakeDisk struct {
	mu    sync.Mutex
	space tree.Space
}

func (f *fakeDisk) Space() (tree.Space, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.space, nil
}

func (f *fakeDisk) set(change func(*fakeDisk)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}
