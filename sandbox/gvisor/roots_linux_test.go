package gvisor_test

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/images"
	"torno/sandbox"
	"torno/test/attack"
	"torno/test/prober/verdict"
	"torno/test/wait"
)

// rootIn makes a root file system whose only program is sandbox-init.
func (h *house) rootIn(dir string) {
	h.Helper()
	program, err := os.ReadFile(h.tools.init)
	err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "bin"), 0o755), os.WriteFile(filepath.Join(dir, "bin", "tool"), program, 0o755))
	if err != nil {
		h.Fatal(err)
	}
}

// TestRootFromADirectory: a directory of the operator's is the child's system, and stays as it is.
func TestRootFromADirectory(t *testing.T) {
	h := newHouse(t)
	base, dir := workshop(t), filepath.Join(t.TempDir(), "root")
	h.rootIn(dir)
	out, errs, exit := run(t, h.launch(base, "ours"), specOf(base, "dir:"+dir, "/bin/tool", "version"))
	if exit.Code != 0 || !strings.HasPrefix(out, "sandbox-init ") {
		t.Errorf("%q, %q, %+v", out, errs, exit)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// TestRootsThatParentsReach: a root file system that lies where a parent writes is none, whatever name leads there.
func TestRootsThatParentsReach(t *testing.T) {
	h := newHouse(t)
	base, apart := workshop(t), t.TempDir()
	h.rootIn(filepath.Join(base, "ws", "root"))
	names := filepath.Join(apart, "names")
	if err := errors.Join(os.Symlink(filepath.Join(base, "ws"), filepath.Join(apart, "lnk")), os.Mkdir(names, 0o755)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := unix.Mount(filepath.Join(base, "ws"), names, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(names, unix.MNT_DETACH) })
	}
	l := h.launch(base, "ours")
	for row, c := range map[string]struct {
		trial attack.Trial
		path  string
	}{
		"its own name": {attack.Trial{Row: "R2", Where: "gvisor, a root"}, filepath.Join(base, "ws", "root")},
		"a link":       {attack.Trial{Row: "R1", Where: "gvisor, a link"}, filepath.Join(apart, "lnk", "root")},
		"a mount":      {attack.Trial{Row: "R2", Where: "gvisor, a bind mount"}, filepath.Join(names, "root")},
	} {
		trial := c.trial
		trial.Tried = 1
		_, there := os.Stat(filepath.Join(c.path, "bin", "tool"))
		if trial.Oracle = there == nil; !trial.Oracle && os.Geteuid() != 0 {
			continue // only root mounts
		}
		_, err := l.Create(t.Context(), sandbox.NewSandboxID(), specOf(base, "dir:"+c.path, "/bin/tool", "version"))
		if e, ok := errors.AsType[*images.Error](err); ok && e.Code == images.Unsafe {
			trial.Held = 1
		} else {
			t.Errorf("%s: %v", row, err)
		}
		attack.Record(t, trial)
	}
}

// TestTheKeeperHoldsTheImage: its sandbox uses an image for as long as it runs, also when the watcher has died. The oracle is
// the same cache when the sandbox has ended.
func TestTheKeeperHoldsTheImage(t *testing.T) {
	h := newHouse(t)
	base, dir := workshop(t), layoutOf(t, image(t, sleeper(t)))
	first := h.launch(base, "ours")
	handle, err := first.Create(t.Context(), sandbox.NewSandboxID(), specOf(base, "oci:"+dir, "/bin/tool"))
	if err == nil {
		err = launch(t.Context(), first, handle)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.crash(first)
	second, err := images.Open(t.Context(), images.Options{Dir: filepath.Join(h.dir, "ours", "gvisor", "images")})
	if err != nil {
		t.Fatal(err)
	}
	trial := attack.Trial{Row: "R9", Where: "gvisor, a dead watcher", Tried: 1}
	freed, err := second.Collect(t.Context(), 0)
	if err == nil && freed == 0 {
		trial.Held = 1
	} else {
		t.Errorf("%d bytes of what a sandbox runs on were freed (%v)", freed, err)
	}
	next := h.launch(base, "ours")
	if err := next.Remove(context.WithoutCancel(t.Context()), handle); err != nil {
		t.Fatal(err)
	}
	// A keeper lets go of its image with its life, which may end a moment after its sandbox is gone.
	wait.Until(t, "it is freed", func() bool {
		freed, err = second.Collect(t.Context(), 0)
		trial.Oracle = err == nil && freed > 0
		return trial.Oracle || err != nil
	})
	attack.Record(t, trial)
}

// TestVolumesOfAnImage: one over what is ours is refused, and none is laid there. The oracle is another VOLUME, which is laid.
func TestVolumesOfAnImage(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	l := h.launch(base, "ours")
	trial := attack.Trial{Row: "R7", Where: "gvisor"}
	for _, volume := range []string{"/proc", "/etc", "/dev/shm", "/workspace/data", "/run"} {
		trial.Tried++
		spec := specOf(base, "oci:"+layoutOf(t, imageOf(t, h.tools.init, volume)), "/bin/tool", "version")
		if _, err := l.Create(t.Context(), sandbox.NewSandboxID(), spec); err != nil && strings.Contains(err.Error(), "VOLUME") {
			trial.Held++
		} else {
			t.Errorf("%s: %v", volume, err)
		}
	}
	spec := specOf(base, "oci:"+layoutOf(t, imageOf(t, h.tools.init, "/data")), "/bin/tool", "version")
	_, _, exit := run(t, l, spec)
	trial.Oracle = exit.Code == 0
	attack.Record(t, trial)
}

// TestLinksOfAnImage: links in the place of our directories lead to the workspace, by its name in the sandbox and by that on
// the host. The oracle makes a directory in such a tree by its path.
func TestLinksOfAnImage(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	workspace := filepath.Join(base, "ws")
	l := h.launch(base, "ours")
	trial := attack.Trial{Row: "R8", Where: "gvisor", Oracle: true}
	for _, to := range []string{"/workspace", workspace} {
		var links []tar.Header
		for _, name := range []string{"run", "etc", "proc", "dev", "sys", "tmp", "home"} {
			links = append(links, tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to})
		}
		trial.Tried++
		out, errs, exit := run(t, l, specOf(base, "oci:"+layoutOf(t, imageOf(t, h.tools.init, "/data", links...)), "/bin/tool", "version"))
		left, err := os.ReadDir(workspace)
		if exit.Code == 0 && strings.HasPrefix(out, "sandbox-init ") && err == nil && len(left) == 0 {
			trial.Held++
		} else {
			t.Errorf("to %s: %q, %q, %+v; in the workspace: %v, %v", to, out, errs, exit, left, err)
		}
	}
	tree := t.TempDir()
	if err := errors.Join(os.Symlink(workspace, filepath.Join(tree, "run")), os.MkdirAll(filepath.Join(tree, "run", "torno"), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := os.Lstat(filepath.Join(workspace, "torno"))
	trial.Oracle = err == nil
	attack.Record(t, trial)
}

// sleeper builds a program that waits for its end, or has one that was built.
func sleeper(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(verdict.Programs); dir != "" {
		return filepath.Join(dir, "sleeper")
	}
	source, program := filepath.Join(t.TempDir(), "sleep.go"), filepath.Join(t.TempDir(), "sleep")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(time.Hour) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "build", "-trimpath", "-o", program, source)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return program
}
