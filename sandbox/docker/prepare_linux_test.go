package docker_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
	"torno/sandbox/pool"
)

var _ pool.Preparer = (*docker.Launcher)(nil)

// ahead makes a sandbox for runs like a spec, and looks at it while it is empty.
func (f *field) ahead(spec sandbox.Spec) (sandbox.Handle, sandbox.Attachment) {
	f.Helper()
	shape, err := sandbox.ShapeOf(spec)
	f.must(err)
	h, err := f.Prepare(f.ctx, sandbox.NewSandboxID(), shape)
	f.must(err)
	f.Cleanup(func() {
		if err := f.Remove(context.WithoutCancel(f.ctx), h); err != nil {
			f.Error(err)
		}
	})
	a := f.begin(h)
	f.must(holds(f, a))
	_, err = f.Attest(f.ctx, h)
	f.must(err)
	return h, a
}

// holds reads init's first line.
func holds(f *field, a sandbox.Attachment) error {
	f.Helper()
	select {
	case <-a.Output():
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// TestCallsOfAPreparedRun: from the claim to the word the engine is asked nothing.
func TestCallsOfAPreparedRun(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	spec := f.spec("/bin/sh", "-c", "echo made >made; read -r go; cat made")
	spec.Process.Stdin = true // the run lives until its calls are counted
	h, a := f.ahead(spec)
	if f.Weigh(h) < 100<<10 {
		t.Errorf("it weighs %d", f.Weigh(h))
	}
	f.calls.take()
	h, err := f.Furnish(f.ctx, h, spec)
	f.must(err)
	seen, err := f.Attest(f.ctx, h)
	f.must(err)
	if !seen.Attested || h.Inode == 0 {
		t.Errorf("attested %t, the handle %+v", seen.Attested, h)
	}
	f.must(a.Release(f.ctx))
	if asked := f.calls.take(); len(asked) != 0 {
		t.Errorf("the engine was asked %v", asked)
	}
	f.must(a.Input().Close())
	if e := f.finish(a); e.exit.Code != 0 || string(e.stdout) != "made\n" {
		t.Errorf("exit %d, it said %q and %q", e.exit.Code, e.stdout, e.stderr)
	}
}

// TestNothingOfARunIsInAPreparedSandbox: its workspace is empty and read-only, and it has no run file.
func TestNothingOfARunIsInAPreparedSandbox(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	h, _ := f.ahead(f.spec("/bin/true"))
	root := filepath.Join("/proc", pidOf(f, h), "root")
	for dir, want := range map[string]int{"workspace": 0, "run/torno/run": 2} { // the user's etc, and the filter
		names, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil || len(names) != want {
			t.Errorf("%s has %v (%v)", dir, names, err)
		}
	}
	var fs unix.Statfs_t
	f.must(unix.Statfs(filepath.Join(root, "workspace"), &fs))
	if fs.Flags&unix.ST_RDONLY == 0 {
		t.Error("the place of the workspace can be written")
	}
}

// TestAPreparedSandboxWithAnotherMount is not what was asked for: neither before its run comes nor after.
func TestAPreparedSandboxWithAnotherMount(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	spec := f.spec("/bin/true")
	h, _ := f.ahead(spec)
	f.smuggle(h, "/workspace") // below the run's own
	h, err := f.Furnish(f.ctx, h, spec)
	f.must(err)
	if _, err := f.Attest(f.ctx, h); !differs(err) {
		t.Errorf("attested with a mount of a stranger's below the workspace: %v", err)
	}
	over, _ := f.ahead(spec)
	over, err = f.Furnish(f.ctx, over, spec)
	f.must(err)
	f.smuggle(over, "/workspace")
	if _, err := f.Attest(f.ctx, over); !differs(err) {
		t.Errorf("attested with a mount of a stranger's over the workspace: %v", err)
	}
}

// pidOf is a sandbox's init.
func pidOf(f *field, h sandbox.Handle) string {
	f.Helper()
	found, err := needEngine(f).ContainerInspect(f.ctx, h.ID)
	f.must(err)
	return strconv.Itoa(found.State.Pid)
}

// smuggle mounts something where a sandbox's init sees it.
func (f *field) smuggle(h sandbox.Handle, target string) {
	f.Helper()
	out, err := exec.CommandContext(f.ctx, "nsenter", "--mount", "--target", pidOf(f, h), "mount", "-t", "tmpfs", "none", target).CombinedOutput()
	if err != nil {
		f.Fatalf("mount something in the sandbox: %v: %s", err, out)
	}
}

func differs(err error) bool {
	_, ok := errors.AsType[*sandbox.DifferenceError](err)
	return ok
}

// TestAPreparedSandboxThatEnded is not attested, although the engine is not asked any more.
func TestAPreparedSandboxThatEnded(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	spec := f.spec("/bin/true")
	h, a := f.ahead(spec)
	h, err := f.Furnish(f.ctx, h, spec)
	f.must(err)
	f.must(a.Signal(f.ctx, sandbox.Kill))
	f.finish(a)
	if _, err := f.Attest(f.ctx, h); !errors.Is(err, sandbox.ErrNotHeld) {
		t.Errorf("a sandbox that has ended: %v", err)
	}
}

// TestAWorkspaceIsFoundWhenItsRunComes, with the rights of its owner, and not before.
func TestAWorkspaceIsFoundWhenItsRunComes(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	spec := f.spec("/bin/true")
	h, _ := f.ahead(spec)
	f.must(os.Remove(filepath.Join(f.base, "workspace")))
	f.must(os.Symlink("/etc", filepath.Join(f.base, "workspace")))
	_, err := f.Furnish(f.ctx, h, spec)
	if refusal, ok := errors.AsType[*delegation.Refusal](err); !ok || refusal.Code != delegation.CodeWorkspace {
		t.Errorf("a link in the workspace's place: %v", err)
	}
}

// TestByPathNothingIsMadeAhead says why.
func TestByPathNothingIsMadeAhead(t *testing.T) {
	f := newField(t, docker.MountByPath)
	if err := f.CanPrepare(); err == nil {
		t.Error("sandboxes can be made ahead although their mounts come by path")
	}
	shape, err := sandbox.ShapeOf(f.spec("/bin/true"))
	f.must(err)
	if h, err := f.Prepare(f.ctx, sandbox.NewSandboxID(), shape); err == nil {
		f.remove(h)
		t.Error("one was made")
	}
}

var _ local.Attester = (*field)(nil)

// TestAContextAtItsPrefix arrives where it is a directory. A file does not, which is no fault of the request's.
func TestAContextAtItsPrefix(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	spec := f.spec("/bin/sh", "-c", "cat /given/file")
	given := sandbox.Mount{Source: sandbox.Source{Base: f.base, Rel: "given"}, Target: "/given", Prefix: "/given"}
	spec.Mounts = append([]sandbox.Mount{given}, spec.Mounts...)
	f.must(os.Mkdir(filepath.Join(f.base, "given"), 0o755))
	f.must(os.WriteFile(filepath.Join(f.base, "given/file"), []byte("read\n"), 0o644))
	h, a := f.ahead(spec)
	h, err := f.Furnish(f.ctx, h, spec)
	f.must(err)
	_, err = f.Attest(f.ctx, h)
	f.must(err)
	f.must(a.Release(f.ctx))
	f.must(a.Input().Close())
	if e := f.finish(a); e.exit.Code != 0 || string(e.stdout) != "read\n" {
		t.Errorf("exit %d, it said %q and %q", e.exit.Code, e.stdout, e.stderr)
	}
	next, _ := f.ahead(spec)
	f.must(os.RemoveAll(filepath.Join(f.base, "given")))
	f.must(os.WriteFile(filepath.Join(f.base, "given"), nil, 0o644))
	_, err = f.Furnish(f.ctx, next, spec)
	if _, refused := errors.AsType[*delegation.Refusal](err); err == nil || refused {
		t.Errorf("a file at its prefix: %v", err)
	}
}
