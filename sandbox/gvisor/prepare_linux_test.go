package gvisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/pool"
)

var _ pool.Preparer = (*gvisor.Launcher)(nil)

// place is an installation in which sandboxes are made ahead of runs.
type place struct {
	*testing.T
	*gvisor.Launcher
	house *house
	base  string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, house: newHouse(t), base: workshop(t)}
	p.Launcher = p.house.launch(p.base, "ours")
	if err := p.CanPrepare(); err != nil {
		t.Skip("NOT SHOWN HERE: ", err)
	}
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) spec(argv ...string) sandbox.Spec {
	spec := specOf(p.base, "", argv...)
	spec.RootFS, spec.Process.Env = sandbox.RootFS{Host: true}, []string{"PATH=/usr/bin:/bin"}
	return spec
}

// ready makes a sandbox for runs like a spec, and looks at it while it is empty.
func (p *place) ready(spec sandbox.Spec) (sandbox.Handle, sandbox.Attachment) {
	p.Helper()
	shape, err := sandbox.ShapeOf(spec)
	p.must(err)
	h, err := p.Prepare(p.Context(), sandbox.NewSandboxID(), shape)
	p.must(err)
	p.Cleanup(func() {
		if err := p.Remove(context.WithoutCancel(p.Context()), h); err != nil {
			p.Error(err)
		}
	})
	p.must(p.Start(p.Context(), h))
	a, err := p.Open(p.Context(), h, "")
	p.must(err)
	p.Cleanup(func() { a.Close() })
	<-a.Output() // it holds
	seen, err := p.Attest(p.Context(), h)
	if err != nil || !seen.Attested {
		p.Fatalf("%+v, %v", seen, err)
	}
	return h, a
}

// says is what an agent prints to its standard output, from its release to its end.
func (p *place) says(a sandbox.Attachment) (said string, code int) {
	p.Helper()
	p.must(a.Release(p.Context()))
	for chunk := range a.Output() {
		if chunk.Stream == sandbox.Stdout {
			said += string(chunk.Bytes)
		}
	}
	exit, err := a.Wait(p.Context())
	p.must(err)
	return said, exit.Code
}

// gofer is the process that opens the host's files for a sandbox.
func (p *place) gofer(h sandbox.Handle) string {
	p.Helper()
	for pid, program := range running(p.T, filepath.Join(p.house.dir, "ours", "gvisor", "boxes", h.ID)) {
		if program == "runsc-gofer" {
			return fmt.Sprint(pid)
		}
	}
	p.Fatal("there is no gofer")
	return ""
}

// TestAWorkspaceArrivesAtItsPrefix, where the kernel of a sandbox has opened an empty directory. It is the working directory by that path, and
// by no other one.
func TestAWorkspaceArrivesAtItsPrefix(t *testing.T) {
	p := newPlace(t)
	spec := p.spec("/bin/sh", "-c", "pwd -P; cd ..; pwd; cd /workspace/deep; pwd -P; echo made >../made; cat ../made")
	h, a := p.ready(spec)
	if w := p.Weigh(h); w < 1<<20 {
		t.Errorf("it weighs %d", w)
	}
	p.must(os.Mkdir(filepath.Join(p.base, "ws", "deep"), 0o755))
	h, err := p.Furnish(p.Context(), h, spec)
	p.must(err)
	seen, err := p.Attest(p.Context(), h)
	if err != nil || !seen.Attested || h.Inode == 0 {
		t.Fatalf("%+v, the handle %+v, %v", seen, h, err)
	}
	said, code := p.says(a)
	if said != "/workspace\n/\n/workspace/deep\nmade\n" || code != 0 {
		t.Errorf("exit %d, it said %q", code, said)
	}
	if made, err := os.ReadFile(filepath.Join(p.base, "ws", "made")); err != nil || string(made) != "made\n" {
		t.Errorf("the host finds %q: %v", made, err)
	}
}

// TestWithoutTheBindNoWorkspaceArrives: it is the kernel's bind that shows it, and what lies at the prefix before that cannot be written.
func TestWithoutTheBindNoWorkspaceArrives(t *testing.T) {
	p := newPlace(t)
	h, _ := p.ready(p.spec("/bin/true"))
	root := filepath.Join("/proc", p.gofer(h), "root")
	for dir, want := range map[string]int{"workspace": 0, "run/torno/late/0": 0, "run/torno/run": 2} { // the user's etc, and the filter
		names, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil || len(names) != want {
			t.Errorf("%s has %v (%v)", dir, names, err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "written"), nil, 0o600); err == nil {
			t.Errorf("%s can be written", dir)
		}
	}
}

// TestAStrangersMountIsSeen in a sandbox that was made ahead, before its run comes and after.
func TestAStrangersMountIsSeen(t *testing.T) {
	p := newPlace(t)
	spec := p.spec("/bin/true")
	for _, late := range []bool{false, true} {
		h, _ := p.ready(spec)
		target := "/run/torno/late/0"
		var err error
		if late {
			target += "/self"
			h, err = p.Furnish(p.Context(), h, spec)
			p.must(err)
		}
		p.must(smuggle(filepath.Join("/proc", p.gofer(h)), target))
		if _, err := p.Attest(p.Context(), h); !errors.As(err, new(*sandbox.DifferenceError)) {
			t.Errorf("after its run came: %t; attested with a stranger's mount at %s: %v", late, target, err)
		}
	}
}

// smuggle mounts something where a process sees it.
func smuggle(process, target string) error {
	place, err1 := unix.Open(filepath.Join(process, "root", target), unix.O_PATH|unix.O_CLOEXEC, 0)
	space, err2 := unix.Open(filepath.Join(process, "ns/mnt"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	system, err3 := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	return inThread(func() error {
		err := errors.Join(unix.FsconfigCreate(system), unix.Unshare(unix.CLONE_FS))
		if err == nil {
			err = unix.Setns(space, unix.CLONE_NEWNS)
		}
		if err == nil {
			var tree int
			if tree, err = unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, 0); err == nil {
				err = unix.MoveMount(tree, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
			}
		}
		return err
	})
}

// inThread does something in a thread that ends with it. It is not the first one, which cannot end, and whose namespaces all would take
// for the process's.
func inThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- do()
			return // still locked: the thread ends here
		}
		done <- inThread(do) // in another one, since this one is ours meanwhile
		runtime.UnlockOSThread()
	}()
	return <-done
}

// TestAnEndedSandboxTakesNoRun: it ended in its hold.
func TestAnEndedSandboxTakesNoRun(t *testing.T) {
	p := newPlace(t)
	spec := p.spec("/bin/true")
	h, a := p.ready(spec)
	p.must(a.Signal(p.Context(), sandbox.Kill))
	_, err := a.Wait(p.Context())
	p.must(err)
	if _, err := p.Furnish(p.Context(), h, spec); err == nil {
		t.Error("a run was brought into a sandbox that has ended")
	}
	if _, err := p.Attest(p.Context(), h); !errors.Is(err, sandbox.ErrNotHeld) {
		t.Errorf("a sandbox that has ended: %v", err)
	}
}

// TestARunComesOnce: a sandbox takes no second run, and none that it has no place for. A workspace is found when its run comes.
func TestARunComesOnce(t *testing.T) {
	p := newPlace(t)
	spec := p.spec("/bin/true")
	h, _ := p.ready(spec)
	h, err := p.Furnish(p.Context(), h, spec)
	p.must(err)
	if _, err := p.Furnish(p.Context(), h, spec); !errors.Is(err, sandbox.ErrNotHeld) {
		t.Errorf("a second run: %v", err)
	}
	other, _ := p.ready(spec)
	sockets := spec
	sockets.Sockets = []sandbox.Socket{{Host: filepath.Join(p.base, "socket"), Target: "/run/x"}}
	if _, err := p.Furnish(p.Context(), other, sockets); err == nil {
		t.Error("a run has a socket for which its sandbox has no place")
	}
	gone, _ := p.ready(spec)
	p.must(os.Remove(filepath.Join(p.base, "ws")))
	p.must(os.Symlink("/etc", filepath.Join(p.base, "ws")))
	_, err = p.Furnish(p.Context(), gone, spec)
	if refusal := new(delegation.Refusal); !errors.As(err, &refusal) || refusal.Code != delegation.CodeWorkspace {
		t.Errorf("a link in the workspace's place: %v", err)
	}
}

// TestAWatchersDeathEmptiesThePool: the keeper of a sandbox that nobody can release any more ends it.
func TestAWatchersDeathEmptiesThePool(t *testing.T) {
	p := newPlace(t)
	h, _ := p.ready(p.spec("/bin/true"))
	p.house.crash(p.Launcher)
	next := p.house.launch(p.base, "ours")
	p.Launcher = next // for the cleanup
	a, err := next.Open(t.Context(), h, "")
	p.must(err)
	defer a.Close()
	if _, err := a.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOrdinaryKeepersMakeNothingAhead says why.
func TestOrdinaryKeepersMakeNothingAhead(t *testing.T) {
	asOrdinary(t)
	h := newHouse(t)
	if err := h.launch(workshop(t), "ours").CanPrepare(); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("an ordinary user's launcher: %v", err)
	}
}
