package docker_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
	"torno/test/missing"
)

// deaf gives the engine a view of the state directory in which mounts of ours do not arrive, as one has it that runs in
// another mount namespace.
func deaf(t *testing.T, o *docker.Options) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can mount")
	}
	elsewhere := t.TempDir()
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(o.StateDir, elsewhere, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(elsewhere, unix.MNT_DETACH) })
	// A slave would hear of mounts; a private mount does not, and the engine takes it for rslave only when it is shared.
	if err := unix.Mount("", elsewhere, "", unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", elsewhere, "", unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}
	state := o.StateDir
	o.EnginePath = func(here string) (string, error) {
		if rel, ok := strings.CutPrefix(here, state); ok {
			return elsewhere + rel, nil
		}
		return here, nil
	}
}

// TestAutoFallsBackToPaths where mounts by handle do not arrive, and says so.
func TestAutoFallsBackToPaths(t *testing.T) {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	f.house = newHouse(t, func(o *docker.Options) { deaf(t, o) })
	f.Launcher = f.house.launch(f.base, "ours")
	f.mkdir("workspace")
	by := f.Guarantees()[sandbox.MountsByHandle]
	if by.Enforced || !strings.Contains(by.By, "trial") {
		t.Errorf("mounts by handle: %+v", by)
	}
	if e := f.run(f.spec("/usr/bin/id", "-u")); string(e.stdout) != "1000\n" {
		t.Errorf("by path it runs as %q, %q", e.stdout, e.stderr)
	}
}

// TestARootThatIsGoneIsNoReasonForPaths: it says nothing of what can be mounted here.
func TestARootThatIsGoneIsNoReasonForPaths(t *testing.T) {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	said := &strings.Builder{}
	gone := filepath.Join(t.TempDir(), "gone")
	f.must(os.Mkdir(gone, 0o755))
	f.house = newHouse(t, func(o *docker.Options) {
		o.Bases.Close()
		bases, err := mounts.OpenBases([]string{f.base, gone})
		f.must(err)
		t.Cleanup(func() { bases.Close() })
		f.must(os.Remove(gone))
		o.Bases, o.Log = bases, slog.New(slog.NewTextHandler(said, nil))
	})
	f.Launcher = f.house.launch(f.base, "ours")
	if by := f.Guarantees()[sandbox.MountsByHandle]; !by.Enforced || !strings.Contains(said.String(), gone) {
		t.Errorf("mounts by handle: %+v; the log says\n%s", by, said)
	}
}

// TestByHandleOrNotAtAll refuses to start, and says the next step.
func TestByHandleOrNotAtAll(t *testing.T) {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	f.house = newHouse(t, func(*docker.Options) {})
	init, err := program()
	f.must(err)
	bases, err := mounts.OpenBases([]string{f.base})
	f.must(err)
	defer bases.Close()
	dir, id := f.house.state("ours")
	options := docker.Options{
		Options: local.Options{Installation: local.Installation(id), StateDir: dir, InitPath: init, Bases: bases}, Mounts: docker.MountByHandle,
	}
	deaf(t, &options)
	l, err := docker.New(f.ctx, options)
	if err == nil {
		l.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "mounts: auto") || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("it does not say what to do: %v", err)
	}
	left := f.labelled(needEngine(t), id)
	if len(left.containers) > 0 {
		t.Errorf("left are %v", left.containers)
	}
	if slots, err := os.ReadDir(filepath.Join(dir, "docker", "slots")); err != nil || len(slots) > 0 {
		t.Errorf("left are the slots %v, %v", slots, err)
	}
	options.Mounts, options.EnginePath = docker.MountByPath, nil
	l, err = docker.New(f.ctx, options) // for the clean-up of the image and the volume
	f.must(err)
	f.house.launched = append(f.house.launched, l)
}

// TestEngineThatIsNotThere says what to do.
func TestEngineThatIsNotThere(t *testing.T) {
	init, err := program()
	if err != nil {
		t.Fatal(err)
	}
	bases, err := mounts.OpenBases([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Close()
	_, err = docker.New(context.Background(), docker.Options{
		Options: local.Options{Installation: "0123456789abcdef", StateDir: t.TempDir(), InitPath: init, Bases: bases}, Host: "unix:///nonexistent/engine",
	})
	if err == nil || !strings.Contains(err.Error(), "unix:///nonexistent/engine") || !strings.Contains(err.Error(), "is it running") {
		t.Errorf("%v", err)
	}
}
