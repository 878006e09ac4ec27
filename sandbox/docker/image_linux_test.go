package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/attack"
)

// importImage makes an image of one program, with everything in it that an image can say of how it is to be run.
func (f *field) importImage(ref string, changes ...string) {
	f.Helper()
	f.importLinked(ref, map[string]string{"etc/passwd": ""}, changes...)
}

// importLinked has links in the image, by their names. One to nowhere is a file.
func (f *field) importLinked(ref string, links map[string]string, changes ...string) {
	f.Helper()
	api := needEngine(f.TB)
	f.build("alive")
	program, err := os.ReadFile(filepath.Join(f.base, "workspace", "alive"))
	f.must(err)
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	f.must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "alive", Mode: 0o755, Size: int64(len(program))}))
	_, err = w.Write(program)
	f.must(err)
	for name, to := range links {
		header := &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}
		if to == "" {
			header = &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}
		}
		f.must(w.WriteHeader(header))
	}
	f.must(w.Close())
	body, err := api.ImageImport(f.ctx, image.ImportSource{Source: &content, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	f.must(err)
	_, err = io.Copy(io.Discard, body)
	f.must(err)
	f.must(body.Close())
	f.Cleanup(func() {
		if _, err := api.ImageRemove(context.WithoutCancel(f.ctx), ref, image.RemoveOptions{Force: true}); err != nil {
			f.Errorf("remove the test's image: %v", err)
		}
	})
}

// TestImage runs a program of an image that wants to be run otherwise.
func TestImage(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	_, id := f.house.state("ours")
	ref := "torno-test/" + id + ":alive"
	f.importImage(ref, "VOLUME /data /tmp", "ENV LEAK=1", "USER 0", `ENTRYPOINT ["/nonexistent"]`, "WORKDIR /nowhere",
		`HEALTHCHECK CMD /nonexistent`, "EXPOSE 80", "LABEL torno.sandbox=stolen")
	spec := f.spec("/alive", "/data", "/tmp", "/home/agent", "/workspace", "/", "/etc")
	spec.RootFS = sandbox.RootFS{Image: ref}
	h := f.create(spec)
	seen, err := api.ContainerInspect(f.ctx, h.ID)
	f.must(err)
	e := f.finish(f.start(h))
	want := "alive\n/data true\n/tmp true\n/home/agent true\n/workspace true\n/ false\n/etc false\nagent true sandbox true\nPATH=/usr/bin:/bin\n"
	if string(e.stdout) != want || e.exit.Code != 0 {
		t.Errorf("exit %d, stdout %q, want %q, stderr %q", e.exit.Code, e.stdout, want, e.stderr)
	}
	for _, m := range seen.Mounts {
		if m.Type == "volume" && !strings.HasPrefix(m.Name, "torno-"+id[:8]) {
			t.Errorf("the image's volume %s is on the host's disk, at %s", m.Name, m.Destination)
		}
	}
	if len(seen.HostConfig.PortBindings) > 0 || seen.Config.StopSignal != "SIGTERM" || seen.Config.Labels["torno.sandbox"] != string(h.Sandbox) {
		t.Errorf("the image had its way: %+v", seen.Config)
	}
	f.remove(h)
	if again := f.run(spec); string(again.stdout) != want {
		t.Errorf("the second run of the image: %q", again.stdout)
	}
}

// TestProgramsOverAnImage runs a program of the profile's in an image. An image whose link is in the way of programs is refused.
func TestProgramsOverAnImage(t *testing.T) {
	for _, mode := range []docker.MountMode{docker.MountByHandle, docker.MountByPath} {
		f := newField(t, mode)
		_, id := f.house.state("ours")
		plain, linked := "torno-test/"+id+":plain", "torno-test/"+id+":linked"
		f.importImage(plain)
		f.importLinked(linked, map[string]string{"opt": "/workspace"})
		tools := filepath.Join(t.TempDir(), "tools")
		f.must(os.CopyFS(filepath.Join(tools, "bin"), os.DirFS(filepath.Join(f.base, "workspace"))))
		spec := func(image, at string) sandbox.Spec {
			s := f.spec(at+"/bin/alive", at)
			s.RootFS = sandbox.RootFS{Image: image}
			s.Mounts = append([]sandbox.Mount{{Source: sandbox.Source{Base: tools, Rel: "."}, Target: at, Prefix: at, Programs: true}}, s.Mounts...)
			return s
		}
		for _, at := range []string{"/usr/local/tools", "/opt/tools"} {
			e := f.run(spec(plain, at))
			if e.exit.Code != 0 || !strings.HasPrefix(string(e.stdout), "alive\n"+at+" false\n") {
				t.Errorf("%s, at %s: %+v, %q, %q", mode, at, e.exit, e.stdout, e.stderr)
			}
		}
		if _, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec(linked, "/opt/tools")); err == nil {
			t.Errorf("%s: programs are mounted where a link of the image leads", mode)
		}
	}
}

func TestImagesThatCannotBe(t *testing.T) {
	f := newField(t, docker.MountAuto)
	_, id := f.house.state("ours")
	ref, over := "torno-test/"+id+":volume", "torno-test/"+id+":over"
	f.importImage(ref, "VOLUME /run")
	f.importImage(over, "VOLUME /proc")
	for what, root := range map[string]sandbox.RootFS{
		"torno-test/missing:1": {Image: "torno-test/missing:1"},
		`VOLUME "/run"`:        {Image: ref},
		`VOLUME "/proc"`:       {Image: over},
		"either":               {},
		"has either":           {Host: true, Image: ref},
	} {
		spec := f.spec("/alive")
		spec.RootFS = root
		if h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %+v, %v", what, h, err)
		}
	}
}

// TestLinksOfAnImage: a link on the way to a mount of ours leads into the workspace. The oracle is a container of the engine's
// with such mounts, which leaves directories there.
func TestLinksOfAnImage(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	_, id := f.house.state("ours")
	workspace := filepath.Join(f.base, "workspace")
	trial := attack.Trial{Row: "R8", Where: "docker", Oracle: true}
	for name, at := range map[string]struct{ link, to, left string }{
		"run":    {"run", "/workspace", "torno"},
		"torno":  {"run/torno", "../workspace/deep", "deep"},
		"passwd": {"etc/passwd", "/workspace/planted", "planted"},
		"home":   {"home", "/workspace", "agent"},
	} {
		ref := "torno-test/" + id + ":" + name
		f.importLinked(ref, map[string]string{at.link: at.to})
		target := map[string]string{"passwd": "/etc/passwd", "home": "/home/agent"}[name]
		if target == "" {
			target = "/run/torno/run"
		}
		spec := f.spec("/alive")
		spec.RootFS = sandbox.RootFS{Image: ref}
		trial.Tried++
		h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec)
		_, planted := os.Lstat(filepath.Join(workspace, at.left))
		if err != nil && strings.Contains(err.Error(), "has a link at /"+at.link) && planted != nil {
			trial.Held++
		} else {
			t.Errorf("%s: %+v, %v, in the workspace: %v", name, h, err, planted)
		}
		source := filepath.Join(f.base, "ours-"+name)
		if name == "passwd" {
			f.must(os.WriteFile(source, nil, 0o644))
		} else {
			f.must(os.MkdirAll(source, 0o755))
		}
		made, err := api.ContainerCreate(f.ctx, &container.Config{Image: ref, Entrypoint: []string{"/alive"}, NetworkDisabled: true}, &container.HostConfig{
			NetworkMode: "none", Mounts: []mount.Mount{
				{Type: mount.TypeBind, Source: workspace, Target: "/workspace"},
				{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true},
			},
		}, nil, nil, "")
		f.must(err)
		_ = api.ContainerStart(f.ctx, made.ID, container.StartOptions{}) // whatever the program makes of it
		f.must(api.ContainerRemove(f.ctx, made.ID, container.RemoveOptions{Force: true}))
		if _, err := os.Lstat(filepath.Join(workspace, at.left)); err != nil {
			trial.Oracle = false
			t.Errorf("%s: the engine has put nothing there: %v", name, err)
		}
		f.must(os.RemoveAll(filepath.Join(workspace, at.left)))
	}
	attack.Record(t, trial)
}
