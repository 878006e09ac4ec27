package gvisor_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
)

const mib = 1 << 20

// image is one whose only program is sandbox-init, and in whose ways there are links that lead elsewhere.
func image(t *testing.T, program string) v1.Image {
	t.Helper()
	return imageOf(t, program, "/data",
		tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "etc/resolv.conf", Typeflag: tar.TypeSymlink, Linkname: "/workspace/planted"},
		tar.Header{Name: "workspace", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		tar.Header{Name: "data", Typeflag: tar.TypeDir, Mode: 0o755},
	)
}

// imageOf has a program, a VOLUME, and what else lies in it.
func imageOf(t *testing.T, program, volume string, rest ...tar.Header) v1.Image {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	tool := tar.Header{Name: "bin/tool", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}
	for _, h := range append([]tar.Header{tool}, rest...) {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write(content)
		}
	}
	w.Close()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err == nil {
		made, err = mutate.Config(made, v1.Config{Volumes: map[string]struct{}{volume: {}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// run carries one sandbox to its end.
func run(t *testing.T, l sandbox.Launcher, spec sandbox.Spec) (out, errs string, exit sandbox.Exit) {
	t.Helper()
	h, err := l.Create(t.Context(), sandbox.NewSandboxID(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Remove(context.WithoutCancel(t.Context()), h); err != nil {
			t.Error(err)
		}
	}()
	if err := l.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	a, err := l.Open(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := local.Release(t.Context(), l, h, a); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	for chunk := range a.Output() {
		if chunk.Stream == sandbox.Stdout {
			stdout.Write(chunk.Bytes)
		} else {
			stderr.Write(chunk.Bytes)
		}
	}
	exit, err = a.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), exit
}

func specOf(base, image string, argv ...string) sandbox.Spec {
	return sandbox.Spec{
		Owners:  []uint32{uint32(os.Geteuid())},
		Profile: "p", RootFS: sandbox.RootFS{Image: image},
		Process: sandbox.Process{Argv: argv, Env: []string{"PATH=/bin"}, Dir: "/workspace"},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: base, Rel: "ws"}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
		Limits: sandbox.Limits{
			Memory: 128 * mib, CPUs: 1000, Pids: 64, OpenFiles: 256, FileSize: mib, Tmp: mib, Home: mib, Shm: mib, Log: mib,
		},
	}
}

func layoutOf(t *testing.T, image v1.Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	made, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = made.AppendImage(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestImageFromALayout: no engine and no registry, and links in an image lead nowhere but to their places in it.
func TestImageFromALayout(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	dir := layoutOf(t, image(t, h.tools.init))
	l := h.launch(base, "ours")
	for range 2 { // the second time from the cache
		out, errs, exit := run(t, l, specOf(base, "oci:"+dir, "/bin/tool", "version"))
		if exit.Code != 0 || !strings.HasPrefix(out, "sandbox-init ") {
			t.Errorf("%q, %q, %+v", out, errs, exit)
		}
	}
	if _, err := os.Lstat(filepath.Join(base, "ws", "planted")); err == nil {
		t.Error("a link of the image led into the workspace")
	}
}

// TestProgramsOverAnImage: an image's link at the place of programs leads nowhere, and what else lies there stays.
func TestProgramsOverAnImage(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	tools := filepath.Join(t.TempDir(), "tools")
	program, err := os.ReadFile(h.tools.init)
	err = errors.Join(err, os.MkdirAll(filepath.Join(tools, "bin"), 0o755), os.WriteFile(filepath.Join(tools, "bin/theirs"), program, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	dir := layoutOf(t, imageOf(t, h.tools.init, "/data",
		tar.Header{Name: "opt/tools", Typeflag: tar.TypeSymlink, Linkname: "/workspace", Mode: 0o777},
		tar.Header{Name: "data", Typeflag: tar.TypeDir, Mode: 0o755}))
	l := h.launch(base, "ours")
	for _, at := range []string{"/usr/local/tools", "/opt/tools"} {
		spec := specOf(base, "oci:"+dir, at+"/bin/theirs", "version")
		spec.Mounts = append([]sandbox.Mount{{Source: sandbox.Source{Base: tools, Rel: "."}, Target: at, Prefix: at, Programs: true}}, spec.Mounts...)
		out, errs, exit := run(t, l, spec)
		if exit.Code != 0 || !strings.HasPrefix(out, "sandbox-init ") {
			t.Errorf("%s: %q, %q, %+v", at, out, errs, exit)
		}
		spec.Process.Argv = []string{"/bin/tool", "version"}
		if out, errs, exit := run(t, l, spec); exit.Code != 0 || !strings.HasPrefix(out, "sandbox-init ") {
			t.Errorf("the image's own: %q, %q, %+v", out, errs, exit)
		}
	}
	if left, err := os.ReadDir(filepath.Join(base, "ws")); err != nil || len(left) > 0 {
		t.Errorf("in the workspace are %v, %v", left, err)
	}
}

// TestDamagedImage: the error says what is wrong with what, and there is no sandbox.
func TestDamagedImage(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := h.launch(base, "ours")
	if _, err := l.Create(t.Context(), sandbox.NewSandboxID(), specOf(base, "archive:"+file, "/bin/tool")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if left, err := l.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// workshop is a base with a workspace.
func workshop(t testing.TB) string {
	t.Helper()
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	return base
}

var _ sandbox.Launcher = (*gvisor.Launcher)(nil)
