package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
)

// TestPurgeLeavesNothing of one installation, and everything of another.
func TestPurgeLeavesNothing(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	other := f.house.launch(f.base, "theirs")
	theirs, err := other.Create(f.ctx, sandbox.NewSandboxID(), f.spec("/bin/sleep", "1000000"))
	f.must(err)
	f.must(other.Start(f.ctx, theirs))
	running := f.create(f.spec("/bin/sleep", "1000000"))
	f.must(f.Start(f.ctx, running))
	f.create(f.spec("/bin/true"))
	ourDir, ourID := f.house.state("ours")
	_, theirID := f.house.state("theirs")
	before := f.labelled(api, theirID)

	f.must(f.Purge(f.ctx))
	if left := f.labelled(api, ourID); !left.empty() {
		t.Errorf("left on the engine: %+v", left)
	}
	if names, err := os.ReadDir(filepath.Join(ourDir, "docker", "slots")); err != nil || len(names) > 0 {
		t.Errorf("left in the slots: %v, %v", names, err)
	}
	if after := f.labelled(api, theirID); len(after.containers) != 1 || len(after.volumes) != len(before.volumes) || len(after.images) != len(before.images) {
		t.Errorf("the other installation had %+v and has %+v", before, after)
	}
	if seen, err := api.ContainerInspect(f.ctx, theirs.ID); err != nil || !seen.State.Running {
		t.Errorf("the other installation's sandbox: %+v, %v", seen.State, err)
	}
}

// TestCloseLeavesNoMount when all sandboxes are gone.
func TestCloseLeavesNoMount(t *testing.T) {
	f := newField(t, docker.MountAuto)
	f.run(f.spec("/bin/true"))
	dir, _ := f.house.state("ours")
	f.house.crash(f.Launcher)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	f.must(err)
	if strings.Contains(string(mounts), dir) {
		t.Errorf("a mount is left in %s", dir)
	}
	f.house.launch(f.base, "ours") // for the clean-up
}

// TestStartAfterACrash finds the unfinished work of a launcher that died at the worst moments.
func TestStartAfterACrash(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	dir, id := f.house.state("ours")
	kept := f.create(f.spec("/bin/cat", "/workspace/note"))
	f.house.crash(f.Launcher)
	for _, role := range []string{"trial", "init"} {
		image := f.labelled(api, id).images[0]
		_, err := api.ContainerCreate(f.ctx, &container.Config{
			Image: image, Cmd: []string{"x"}, Labels: map[string]string{"torno.installation": id, "torno.sandbox": role},
		}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "torno-"+id[:8]+"-"+role)
		f.must(err)
	}
	f.must(os.MkdirAll(filepath.Join(dir, "docker", "slots", "200", "run"), 0o755)) // acquired, and no container made
	f.Launcher = f.house.launch(f.base, "ours")
	if left := f.labelled(api, id); len(left.containers) != 1 {
		t.Errorf("after the start there are %v", left.containers)
	}
	if _, err := os.Stat(filepath.Join(dir, "docker", "slots", "200")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the slot of a sandbox that never was: %v", err)
	}
	f.must(os.WriteFile(filepath.Join(f.base, "workspace", "note"), []byte("still here\n"), 0o644))
	a := f.begin(kept)
	if _, err := local.Release(f.ctx, f, kept, a); !errors.Is(err, sandbox.ErrUncertain) {
		t.Errorf("what an earlier life has made was attested: %v", err)
	}
	f.must(a.Release(f.ctx))
	f.must(a.Input().Close())
	if e := f.finish(a); string(e.stdout) != "still here\n" {
		t.Errorf("the sandbox from before: %q, %q", e.stdout, e.stderr)
	}
	f.remove(kept)
	if _, err := os.Stat(filepath.Join(dir, "docker", "slots", "1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its slot: %v", err)
	}
}

// TestStrangerInTheWay has a container with the name of a run. It is neither used nor touched.
func TestStrangerInTheWay(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	_, id := f.house.state("ours")
	key := sandbox.NewSandboxID()
	name := "torno-" + id[:8] + "-" + string(key[:20])
	made, err := api.ContainerCreate(f.ctx, &container.Config{
		Image: f.labelled(api, id).images[0], Cmd: []string{"x"},
		Labels: map[string]string{"torno.installation": "of somebody else"},
	},
		&container.HostConfig{NetworkMode: "none"}, nil, nil, name)
	f.must(err)
	defer func() { f.must(api.ContainerRemove(f.ctx, made.ID, container.RemoveOptions{Force: true})) }()
	h, err := f.Create(f.ctx, key, f.spec("/bin/true"))
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("Create: %+v, %v", h, err)
	}
	if _, err := api.ContainerInspect(f.ctx, made.ID); err != nil {
		t.Errorf("the stranger: %v", err)
	}
	if all, err := f.List(f.ctx); err != nil || len(all) > 0 {
		t.Errorf("List shows %v, %v", all, err)
	}
}

// late makes a container of a run as a slow engine does, after its call was given up: another container has its slot by now.
func (f *field) late(api *client.Client, key sandbox.SandboxID, other sandbox.Handle) {
	f.Helper()
	_, id := f.house.state("ours")
	_, err := api.ContainerCreate(f.ctx, &container.Config{
		Image: f.labelled(api, id).images[0], Cmd: []string{"x"},
		Labels: map[string]string{"torno.installation": id, "torno.sandbox": string(key), "torno.slot": strconv.Itoa(other.Slot)},
	}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "torno-"+id[:8]+"-"+string(key[:20]))
	f.must(err)
}

// TestALateContainer is neither used by the next try, nor does it keep a launcher from starting.
func TestALateContainer(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	key, running := sandbox.NewSandboxID(), f.create(f.spec("/bin/sleep", "1000000"))
	f.must(f.Start(f.ctx, running))
	defer f.remove(running)
	f.late(api, key, running)
	if h, err := f.Create(f.ctx, key, f.spec("/bin/true")); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("the try that met it: %+v, %v", h, err)
	}
	h, err := f.Create(f.ctx, key, f.spec("/bin/true"))
	if err != nil || h.Slot == running.Slot {
		t.Errorf("the try after it: %+v, %v", h, err)
	}
	f.remove(h)

	f.late(api, sandbox.NewSandboxID(), running)
	f.house.crash(f.Launcher)
	f.Launcher = f.house.launch(f.base, "ours")
	if all, err := f.List(f.ctx); err != nil || len(all) != 1 || all[0].ID != running.ID {
		t.Errorf("after the start there are %v, %v", all, err)
	}
}

// TestTwoContainersOfOneSlot: a launcher that has not noticed that its engine was exchanged makes a sandbox in a slot that a run's has,
// starts it, and releases nothing. It does not keep the next launcher from starting.
func TestTwoContainersOfOneSlot(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	running := f.create(f.spec("/bin/sleep", "1000000"))
	f.must(f.Start(f.ctx, running))
	_, id := f.house.state("ours")
	key := sandbox.NewSandboxID()
	other, err := api.ContainerCreate(f.ctx, &container.Config{
		Image: f.labelled(api, id).images[0], Cmd: []string{"/bin/true"},
		Labels: map[string]string{"torno.installation": id, "torno.sandbox": string(key), "torno.slot": strconv.Itoa(running.Slot)},
	}, &container.HostConfig{NetworkMode: "none", Binds: []string{"/usr:/usr:ro"}}, nil, nil, "torno-"+id[:8]+"-"+string(key[:20]))
	f.must(err)
	f.must(api.ContainerStart(f.ctx, other.ID, container.StartOptions{}))
	ended, _ := api.ContainerWait(f.ctx, other.ID, container.WaitConditionNotRunning)
	<-ended
	f.house.crash(f.Launcher)
	adjust := f.house.adjust
	f.house.adjust = func(o *docker.Options) { adjust(o); o.Known = []sandbox.Handle{running} }
	f.Launcher = f.house.launch(f.base, "ours")
	defer f.remove(running)
	if all, err := f.List(f.ctx); err != nil || len(all) != 1 || all[0].ID != running.ID {
		t.Errorf("after the start there are %v, %v", all, err)
	}
}

// TestOpenBeforeTheStart has nothing to follow.
func TestOpenBeforeTheStart(t *testing.T) {
	f := newField(t, docker.MountAuto)
	h := f.create(f.spec("/bin/true"))
	defer f.remove(h)
	if a, err := f.Open(f.ctx, h, ""); err == nil {
		a.Close()
		t.Error("it can be opened")
	}
	if e := f.finish(f.start(h)); e.exit.Code != 0 {
		t.Errorf("afterwards it ended with %+v", e.exit)
	}
}

// TestRemoveFromManySides removes one sandbox several times at once.
func TestRemoveFromManySides(t *testing.T) {
	f := newField(t, docker.MountAuto)
	h := f.create(f.spec("/bin/sleep", "1000000"))
	f.must(f.Start(f.ctx, h))
	var removing sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		removing.Go(func() { errs[i] = f.Remove(f.ctx, h) })
	}
	removing.Wait()
	f.must(errors.Join(errs...))
	if _, err := f.Open(f.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
}

// TestIdentitiesRunOut refuses to share one.
func TestIdentitiesRunOut(t *testing.T) {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	f.house = newHouse(t, func(o *docker.Options) { o.UIDs = local.UIDRange{First: 1_900_000_000, Count: 1} })
	f.Launcher = f.house.launch(f.base, "ours")
	f.mkdir("workspace")
	h := f.create(f.spec("/bin/true"))
	_, err := f.Create(f.ctx, sandbox.NewSandboxID(), f.spec("/bin/true"))
	var refusal *delegation.Refusal
	if err == nil || errors.As(err, &refusal) {
		t.Errorf("a second sandbox of one identity: %v", err)
	}
	f.remove(h)
	f.run(f.spec("/bin/true"))
}

// TestLimitsArePositive: nought is the engine's word for none.
func TestLimitsArePositive(t *testing.T) {
	f := newField(t, docker.MountAuto)
	for name, spoil := range map[string]func(*sandbox.Limits){
		"memory": func(l *sandbox.Limits) { l.Memory = 0 }, "cpus": func(l *sandbox.Limits) { l.CPUs = 0 },
		"pids": func(l *sandbox.Limits) { l.Pids = -1 }, "open_files": func(l *sandbox.Limits) { l.OpenFiles = 0 },
		"file_size": func(l *sandbox.Limits) { l.FileSize = -1 }, "tmp": func(l *sandbox.Limits) { l.Tmp = 0 },
		"home": func(l *sandbox.Limits) { l.Home = 0 }, "shm": func(l *sandbox.Limits) { l.Shm = 0 }, "log": func(l *sandbox.Limits) { l.Log = 0 },
	} {
		spec := f.spec("/bin/true")
		spoil(&spec.Limits)
		if _, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec); err == nil || !strings.Contains(err.Error(), "limit "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLinesLongerThanTheEnginesBuffer come out of the log as they went in, from every place.
func TestLinesLongerThanTheEnginesBuffer(t *testing.T) {
	f := newField(t, docker.MountAuto)
	h := f.create(f.spec("/bin/sh", "-c", `for n in 1 16383 16384 16385 40000 3; do
		head -c $n /dev/zero | tr '\0' a; echo; printf 'x\000\377y\n'; done; echo the end`))
	defer f.remove(h)
	first := f.finish(f.start(h))
	if len(first.stdout) < 80000 {
		t.Fatalf("%d bytes, %q", len(first.stdout), first.stderr)
	}
	again, err := f.Open(f.ctx, h, "")
	f.must(err)
	if whole := f.finish(again); string(whole.stdout) != string(first.stdout) || string(whole.stderr) != runfile.Holding+string(first.stderr) {
		t.Errorf("the log has %d bytes of %d", len(whole.stdout), len(first.stdout))
	}
	at := 0
	for _, chunk := range first.chunks {
		if chunk.Stream == sandbox.Stdout {
			at += len(chunk.Bytes)
		}
		rest, err := f.Open(f.ctx, h, chunk.Cursor)
		f.must(err)
		if got := f.finish(rest).stdout; string(got) != string(first.stdout[at:]) {
			t.Errorf("after byte %d the log has %d bytes of %d", at, len(got), len(first.stdout)-at)
		}
		f.must(rest.Close())
	}
}
