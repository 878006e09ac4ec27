package docker_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
	"torno/test/missing"
)

// TestMountsAtManyPlaces has a workspace in a context, contexts beside it, below /tmp and in the home directory, and a file.
func TestMountsAtManyPlaces(t *testing.T) {
	for _, mode := range []docker.MountMode{docker.MountByHandle, docker.MountByPath} {
		t.Run(string(mode), func(t *testing.T) {
			f := newField(t, mode)
			for _, dir := range []string{"outer", "outer/ws", "tmp", "home"} {
				f.mkdir(dir)
				f.must(os.WriteFile(filepath.Join(f.base, dir, "note"), []byte(dir+"\n"), 0o644))
			}
			mount := func(rel, target, prefix string) sandbox.Mount {
				return sandbox.Mount{Source: sandbox.Source{Base: f.base, Rel: rel}, Target: target, Prefix: prefix}
			}
			spec := f.spec("/bin/sh", "-c", `cat /p/note /p/ws/note /tmp/deep/note /home/agent/in/note /single
				echo new >/p/ws/new && for d in /p /tmp/deep /home/agent/in; do echo x >$d/x && echo "$d can be written"; done 2>/dev/null; exit 0`)
			spec.Mounts = []sandbox.Mount{
				mount("home", "/home/agent/in", "/home/agent/in"), mount("outer", "/p", "/p"), mount("outer/ws", "/p/ws", "/p"),
				mount("tmp/note", "/single", "/single"), mount("tmp", "/tmp/deep", "/tmp/deep"),
			}
			spec.Mounts[2].Workspace = true
			spec.Process.Dir = "/p/ws"
			e := f.run(spec)
			if want := "outer\nouter/ws\ntmp\nhome\ntmp\n"; string(e.stdout) != want || e.exit.Code != 0 {
				t.Errorf("exit %d, stdout %q, want %q, stderr %q", e.exit.Code, e.stdout, want, e.stderr)
			}
			if content, err := os.ReadFile(filepath.Join(f.base, "outer", "ws", "new")); err != nil || string(content) != "new\n" {
				t.Errorf("what was written: %q, %v", content, err)
			}
		})
	}
}

// refused is the code of a refusal.
func (f *field) refused(spec sandbox.Spec) delegation.Code {
	f.Helper()
	h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec)
	if err == nil {
		f.remove(h)
		return ""
	}
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) {
		f.Fatalf("no refusal: %v", err)
	}
	if refusal.Hint == "" || refusal.Field == "" {
		f.Errorf("a refusal that does not help: %+v", refusal)
	}
	return refusal.Code
}

// TestWithheldPlaces asks for Torno's own state in every way that a root would allow.
func TestWithheldPlaces(t *testing.T) {
	f := newField(t, docker.MountAuto)
	state, _ := f.house.state("above")
	f.Launcher = f.house.launch(filepath.Dir(state), "above") // a root that holds its own state
	for rel, want := range map[string]delegation.Code{
		".": delegation.CodeWorkspace, "above": delegation.CodeWorkspace, "above/docker": delegation.CodeWorkspace,
		"above/docker/trial": delegation.CodeWorkspace, "beside": "",
	} {
		f.must(os.MkdirAll(filepath.Join(filepath.Dir(state), "beside"), 0o755))
		spec := f.spec("/bin/true")
		spec.Mounts[0].Source = sandbox.Source{Base: filepath.Dir(state), Rel: rel}
		if got := f.refused(spec); got != want {
			t.Errorf("%s as a workspace: %q, want %q", rel, got, want)
		}
	}
}

// TestWithheldPlacesByAnotherMount: a root through which our state and an outbox have a second name.
func TestWithheldPlacesByAnotherMount(t *testing.T) {
	f := newField(t, docker.MountAuto)
	tree, alias := filepath.Join(f.base, "tree"), filepath.Join(f.base, "alias")
	for _, dir := range []string{"tree/box/workspaces/s1", "tree/beside", "alias"} {
		f.must(os.MkdirAll(filepath.Join(f.base, dir), 0o755))
	}
	f.house = newHouse(t, func(o *docker.Options) {
		o.StateDir = filepath.Join(tree, "state")
		if err := o.Bases.Withhold(mounts.Withheld{Path: filepath.Join(tree, "box"), What: "an outbox", Inside: []string{alias}}); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount(tree, alias, "", unix.MS_BIND, ""); err != nil {
		missing.Skip(t, "nothing can be mounted: ", err)
	}
	t.Cleanup(func() { f.must(unix.Unmount(alias, unix.MNT_DETACH)) })
	f.Launcher = f.house.launch(alias, "ours")
	for rel, want := range map[string]delegation.Code{
		"state": delegation.CodeWorkspace, "state/docker": delegation.CodeWorkspace, "box": delegation.CodeWorkspace,
		".": delegation.CodeWorkspace, "box/workspaces/s1": "", "beside": "",
	} {
		spec := f.spec("/bin/true")
		spec.Mounts[0].Source = sandbox.Source{Base: alias, Rel: rel}
		if got := f.refused(spec); got != want {
			t.Errorf("%s as a workspace: %q, want %q", rel, got, want)
		}
	}
}

// TestEnginesSocketIsNobodys: not as a profile's socket, and not in a directory.
func TestEnginesSocketIsNobodys(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	engine, ok := strings.CutPrefix(api.DaemonHost(), "unix://")
	if !ok {
		missing.Skip(t, "the engine has no socket here: ", api.DaemonHost())
	}
	link := filepath.Join(f.base, "link")
	f.must(os.Symlink(engine, link))
	for _, host := range []string{engine, link, filepath.Join(f.base, "workspace"), "/nonexistent"} {
		spec := f.spec("/bin/true")
		spec.Sockets = []sandbox.Socket{{Host: host, Target: "/run/x"}}
		if h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec); err == nil || !strings.Contains(err.Error(), "socket of the profile") {
			t.Errorf("%s: %+v, %v", host, h, err)
		}
	}
	f.Launcher = f.house.launch(filepath.Dir(engine), "with the socket")
	spec := f.spec("/bin/true")
	spec.Mounts[0].Source = sandbox.Source{Base: filepath.Dir(engine), Rel: "."}
	if got := f.refused(spec); got != delegation.CodeWorkspace {
		t.Errorf("the socket's directory as a workspace: %q", got)
	}
}

// TestHardLinkOfTheEnginesSocket is the same socket by another name.
func TestHardLinkOfTheEnginesSocket(t *testing.T) {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	api := needEngine(t)
	engine, ok := strings.CutPrefix(api.DaemonHost(), "unix://")
	other := filepath.Join(f.base, "other")
	if err := os.Link(engine, other); !ok || err != nil {
		missing.Skip(t, "there can be no second name: ", err)
	}
	f.house = newHouse(t, func(*docker.Options) {})
	f.Launcher = f.house.launch(f.base, "ours")
	f.mkdir("workspace")
	spec := f.spec("/bin/true")
	spec.Sockets = []sandbox.Socket{{Host: other, Target: "/run/x"}}
	if h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec); err == nil || !strings.Contains(err.Error(), "engine's own") {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestOwnersByPath: by path a sandbox runs as the owner of its workspace, so that must be a user as which it may run.
func TestOwnersByPath(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can give directories to others")
	}
	f := newField(t, docker.MountByPath)
	workspace := filepath.Join(f.base, "workspace")
	for _, c := range []struct {
		uid, gid int
		want     delegation.Code
	}{
		{0, 0, delegation.CodeIdentity},
		{0, workspaceOwner, delegation.CodeIdentity},
		{workspaceOwner, 0, delegation.CodeIdentity},
		{4242, workspaceOwner, delegation.CodeIdentity},
		{workspaceOwner, workspaceOwner, ""},
	} {
		f.must(os.Chown(workspace, c.uid, c.gid))
		spec := f.spec("/bin/true")
		spec.Owners = []uint32{0, workspaceOwner}
		if got := f.refused(spec); got != c.want {
			t.Errorf("a workspace of %d:%d: %q, want %q", c.uid, c.gid, got, c.want)
		}
	}
	if e := f.run(f.spec("/bin/sh", "-c", "id -u; id -g; id -G")); string(e.stdout) != "1000\n1000\n1000\n" {
		t.Errorf("it runs as %q", e.stdout)
	}
}

// TestSocketOfTheProfile is there to be used and not to be removed.
func TestSocketOfTheProfile(t *testing.T) {
	f := newField(t, docker.MountAuto)
	path := filepath.Join(f.base, "socket")
	listener, err := net.Listen("unix", path)
	f.must(err)
	defer listener.Close()
	spec := f.spec("/bin/sh", "-c", "test -S /run/model/socket && ! rm /run/model/socket 2>/dev/null && echo there")
	spec.Sockets = []sandbox.Socket{{Host: path, Target: "/run/model/socket"}}
	if e := f.run(spec); string(e.stdout) != "there\n" {
		t.Errorf("stdout %q, stderr %q", e.stdout, e.stderr)
	}
}

// TestSocketThatIsExchanged between our look and the engine's is not the one that the operator meant: who owns the
// directory could put a link to the engine's own there.
func TestSocketThatIsExchanged(t *testing.T) {
	f := newField(t, docker.MountAuto)
	path := filepath.Join(f.base, "socket")
	for _, name := range []string{path, path + ".other"} {
		listener, err := net.Listen("unix", name)
		f.must(err)
		defer listener.Close()
	}
	spec := f.spec("/bin/echo", "reached")
	spec.Sockets = []sandbox.Socket{{Host: path, Target: "/run/model/socket"}}
	h := f.create(spec)
	defer f.remove(h)
	f.must(os.Remove(path))
	f.must(os.Symlink(path+".other", path))
	a := f.begin(h)
	var different *sandbox.DifferenceError
	if _, err := local.Release(f.ctx, f, h, a); !errors.As(err, &different) || !strings.Contains(err.Error(), "/run/model/socket") {
		t.Errorf("the host saw nothing: %v", err)
	}
	f.must(a.Release(f.ctx)) // init is the last word
	f.must(a.Input().Close())
	if e := f.finish(a); len(e.stdout) > 0 || e.exit.Code != runfile.FailedExit || !strings.Contains(string(e.stderr), "/run/model/socket") {
		t.Errorf("stdout %q, stderr %q, exit %d", e.stdout, e.stderr, e.exit.Code)
	}
}
