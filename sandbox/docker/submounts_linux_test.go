package docker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"golang.org/x/sys/unix"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/attack"
)

// moments are when something is mounted below a workspace or a context: before its sandbox is made, before that starts,
// and while it runs.
var moments = []string{"early", "between", "late"}

// TestSubmounts: what is mounted below a workspace or a context does not appear to the child. The base is a shared mount,
// as everything is under systemd, so that a mount spreads where it can. The oracle is a container that binds the same
// directories recursively and as a slave, and shows all of it.
func TestSubmounts(t *testing.T) {
	for _, mode := range []docker.MountMode{docker.MountByHandle, docker.MountByPath} {
		t.Run(string(mode), func(t *testing.T) {
			f := newTrap(t, mode)
			spec := f.spec("/bin/sh", "-c", `echo ready; read go; for d in /workspace /context; do
				for m in early between late; do cat $d/$m/secret; done; done 2>/dev/null; echo end`)
			spec.Process.Stdin = true
			spec.Mounts = append(spec.Mounts, sandbox.Mount{
				Source: sandbox.Source{Base: f.base, Rel: "context"}, Target: "/context", Prefix: "/context",
			})
			f.spring("early")
			h := f.create(spec)
			defer f.remove(h)
			open := f.openContainer(h)
			f.spring("between")
			a := f.start(h)
			f.hear(a, "ready\n")
			f.must(needEngine(t).ContainerStart(f.ctx, open, container.StartOptions{}))
			f.spring("late")
			_, err := a.Input().Write([]byte("go\n"))
			f.must(err)
			said := string(f.finish(a).stdout)
			seen := strings.Count(said, "secret of ")
			if !strings.HasSuffix(said, "end\n") || seen > 0 {
				t.Errorf("the child said %q", said)
			}
			attack.Record(t, attack.Trial{
				Row: "P12", Where: "docker " + strings.ReplaceAll(string(mode), "-", " "), Tried: 2 * len(moments), Held: 2*len(moments) - seen,
				Oracle: f.shows(open), Note: "the oracle shows every one of them",
			})
		})
	}
}

// newTrap is a field whose base is a shared mount, with places for mounts.
func newTrap(t *testing.T, mode docker.MountMode) *field {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: nothing was tried")
	}
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	f.house = newHouse(t, func(o *docker.Options) { o.Mounts, o.Observe = mode, f.calls.observe })
	f.must(unix.Mount("torno-test", f.base, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { f.must(unix.Unmount(f.base, unix.MNT_DETACH)) })
	f.must(unix.Mount("", f.base, "", unix.MS_SHARED, ""))
	for _, dir := range []string{"workspace", "context"} {
		for _, moment := range moments {
			f.mkdir(filepath.Join(dir, moment))
		}
		f.mkdir(dir)
	}
	f.Launcher = f.house.launch(f.base, "ours")
	return f
}

// spring mounts a secret in every place of a moment.
func (f *field) spring(moment string) {
	f.Helper()
	for _, dir := range []string{"workspace", "context"} {
		place := filepath.Join(f.base, dir, moment)
		f.must(unix.Mount("torno-test", place, "tmpfs", 0, "size=64k"))
		f.must(os.WriteFile(filepath.Join(place, "secret"), []byte("secret of "+place+"\n"), 0o644))
	}
}

// openContainer is a container like a sandbox, that shows workspace and context with what is mounted below them.
func (f *field) openContainer(h sandbox.Handle) string {
	f.Helper()
	api := needEngine(f.TB)
	like, err := api.ContainerInspect(f.ctx, h.ID)
	f.must(err)
	host := &container.HostConfig{NetworkMode: "none"}
	for _, m := range like.HostConfig.Mounts {
		if m.Type == mount.TypeBind && m.Source == m.Target {
			host.Mounts = append(host.Mounts, m)
		}
	}
	for _, dir := range []string{"workspace", "context"} {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: filepath.Join(f.base, dir), Target: "/" + dir,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave},
		})
	}
	made, err := api.ContainerCreate(f.ctx, &container.Config{
		Image: like.Config.Image, Entrypoint: []string{"/bin/sleep"}, Cmd: []string{"1000000"}, NetworkDisabled: true,
	}, host, nil, nil, "")
	f.must(err)
	f.Cleanup(func() { api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}) })
	return made.ID
}

// shows says whether a container shows all that was mounted.
func (f *field) shows(id string) bool {
	f.Helper()
	running, err := needEngine(f.TB).ContainerInspect(f.ctx, id)
	f.must(err)
	for _, dir := range []string{"workspace", "context"} {
		for _, moment := range moments {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/%s/%s/secret", running.State.Pid, dir, moment)); err != nil {
				f.Logf("the open container does not show %s: %v", moment, err)
				return false
			}
		}
	}
	return true
}
