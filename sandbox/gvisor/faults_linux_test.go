package gvisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
	"torno/test/wait"
)

// yard is a launcher, and where it is to be found on the machine.
type yard struct {
	*house
	*gvisor.Launcher
	t       *testing.T
	base    string
	options gvisor.Options
}

func newYard(t *testing.T) *yard {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("what is looked for is root's")
	}
	h := newHouse(t)
	base := workshop(t)
	o := h.options(base, "ours")
	o.Bases.Close()
	return &yard{house: h, t: t, Launcher: h.launch(base, "ours"), base: base, options: o}
}

// again is the launcher after a crash.
func (y *yard) again() {
	y.t.Helper()
	y.crash(y.Launcher)
	y.Launcher = y.launch(y.base, "ours")
}

func (y *yard) box(id string) string {
	return filepath.Join(y.options.StateDir, gvisor.Name, "boxes", id)
}

// create makes a sandbox of the host's programs, which is removed after the test.
func (y *yard) create(argv ...string) sandbox.Handle {
	y.t.Helper()
	spec := specOf(y.base, "", argv...)
	spec.RootFS = sandbox.RootFS{Host: true}
	h, err := y.Create(y.t.Context(), sandbox.NewSandboxID(), spec)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		if err := y.Remove(context.Background(), h); err != nil {
			y.t.Error(err)
		}
	})
	return h
}

// sleeper is a sandbox that runs.
func (y *yard) sleeper() sandbox.Handle {
	y.t.Helper()
	h := y.create("/bin/sleep", "1000")
	y.begin(h)
	return h
}

// begin starts and releases a sandbox.
func (y *yard) begin(h sandbox.Handle) {
	y.t.Helper()
	if err := launch(y.t.Context(), y, h); err != nil {
		y.t.Fatal(err)
	}
}

// launch starts and releases a sandbox, and lets go of it when its agent is about to run: a keeper that dies before it has handed the
// release on takes the sandbox along.
func launch(ctx context.Context, l sandbox.Launcher, h sandbox.Handle) error {
	if err := l.Start(ctx, h); err != nil {
		return err
	}
	a, err := l.Open(ctx, h, "")
	if err != nil {
		return err
	}
	if _, err = local.Release(ctx, l, h, a); err == nil {
		awaitStarted(a)
	}
	return errors.Join(err, a.Close())
}

// awaitStarted reads what a sandbox says until init says that it has started, or there is no more.
func awaitStarted(a sandbox.Attachment) {
	var said []byte
	for chunk := range a.Output() {
		if said = append(said, chunk.Bytes...); bytes.Contains(said, []byte(runfile.Started)) {
			return
		}
	}
}

// wait is how a sandbox ends.
func (y *yard) wait(h sandbox.Handle) sandbox.Exit {
	y.t.Helper()
	a, err := y.Open(y.t.Context(), h, "")
	if err != nil {
		y.t.Fatal(err)
	}
	defer a.Close()
	for range a.Output() {
	}
	exit, err := a.Wait(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	return exit
}

// listed is a sandbox as List shows it.
func (y *yard) listed(h sandbox.Handle) (sandbox.Handle, bool) {
	y.t.Helper()
	all, err := y.List(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	for _, one := range all {
		if one.ID == h.ID {
			return one, true
		}
	}
	return sandbox.Handle{}, false
}

// running are the processes that have a box in their command line, by that of the program.
func running(t *testing.T, box string) map[int]string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && bytes.Contains(line, []byte(box)) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			program, _, _ := bytes.Cut(line, []byte{0})
			found[pid] = filepath.Base(string(program))
		}
	}
	return found
}

// kill kills what goes by a name, and waits until it is dead.
func kill(t *testing.T, box, program string) {
	t.Helper()
	killed := 0
	for pid, name := range running(t, box) {
		if name == program {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed = pid
		}
	}
	if killed == 0 {
		t.Fatalf("there is no %s among %v", program, running(t, box))
	}
	wait.Until(t, "the killed "+program+" is gone", func() bool { return running(t, box)[killed] == "" })
}

// nothingOf looks for what no sandbox leaves.
func (y *yard) nothingOf(id string) {
	y.t.Helper()
	y.nothingRuns(id) // a keeper goes after it has told the end
	if groups, err := filepath.Glob("/sys/fs/cgroup/*/torno/" + string(y.options.Installation) + "/" + id); err != nil || len(groups) > 0 {
		y.t.Errorf("control groups are left: %v, %v", groups, err)
	}
}

// removed is nothingOf, and that no file and no mount is left either.
func (y *yard) removed(id string) {
	y.t.Helper()
	y.nothingOf(id)
	for _, where := range []string{"boxes", "runsc"} {
		if files, err := filepath.Glob(filepath.Join(y.options.StateDir, gvisor.Name, where, "*"+id+"*")); err != nil || len(files) > 0 {
			y.t.Errorf("files are left: %v, %v", files, err)
		}
	}
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounted, []byte(filepath.Join(y.options.StateDir, gvisor.Name, "slots", "1"))) {
		y.t.Errorf("something is mounted still, or %v", err)
	}
}

// TestKeeperIsKilled: without its keeper no process could tell how the sandbox ended, so it is ended, and not begun again.
func TestKeeperIsKilled(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(strconv.FormatBool(watched), func(t *testing.T) {
			y := newYard(t)
			h := y.sleeper()
			if !watched {
				y.again()
			}
			kill(t, y.box(h.ID), "sandbox-keeper")
			if left := running(t, y.box(h.ID)); len(left) == 0 {
				t.Fatal("the oracle is dead: the sandbox has gone with its keeper")
			}
			if watched {
				if exit := y.wait(h); !exit.Unknown || !strings.Contains(exit.Why, "keeper") {
					t.Errorf("%+v", exit)
				}
			}
			if found, ok := y.listed(h); !ok || found.State != sandbox.HandleExited || !found.Exit.Unknown || !strings.Contains(found.Exit.Why, "keeper") {
				t.Errorf("%+v", found)
			}
			y.nothingOf(h.ID)
			if err := y.Start(t.Context(), h); !errors.Is(err, sandbox.ErrUncertain) {
				t.Errorf("%v", err)
			}
			if err := y.Remove(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			y.removed(h.ID)
		})
	}
}

// TestALostSandboxWithoutGroups: the keeper was killed, nobody has looked since, and the processes are in no control group of ours. Remove,
// and so a purge, kills them all the same.
func TestALostSandboxWithoutGroups(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	y.again()
	kill(t, y.box(h.ID), "sandbox-keeper")
	hierarchies, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		t.Fatal(err)
	}
	left := running(t, y.box(h.ID))
	for pid := range left {
		for _, file := range append(hierarchies, "/sys/fs/cgroup/cgroup.procs") {
			_ = os.WriteFile(file, []byte(strconv.Itoa(pid)), 0) // not each of them is the root of a hierarchy
		}
	}
	if len(left) == 0 {
		t.Fatal("the oracle is dead: the sandbox has gone with its keeper")
	}
	for pid := range left {
		if groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil && strings.Contains(string(groups), h.ID) {
			t.Fatalf("the oracle is dead: process %d is still in a group of ours: %s", pid, groups)
		}
	}
	if err := y.Remove(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if left := running(t, y.box(h.ID)); len(left) > 0 {
		t.Errorf("%v live on, and nothing knows of them any more", left)
	}
	y.nothingOf(h.ID)
}

// TestAKeeperThatStopsAfterTheEnd has written everything down and only does not exit. The end is read without it, and Remove kills it.
func TestAKeeperThatStopsAfterTheEnd(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	stopped := false
	for pid, name := range running(t, y.box(h.ID)) {
		if name == "sandbox-keeper" {
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			defer unix.Kill(pid, unix.SIGKILL)
			stopped = true
		}
	}
	if !stopped {
		t.Fatal("the sandbox has no keeper")
	}
	kill(t, y.box(h.ID), "runsc-sandbox")
	if err := os.WriteFile(filepath.Join(y.box(h.ID), "end.json"), []byte(`{"Started":true,"Code":7}`), 0o600); err != nil { // as the keeper would have
		t.Fatal(err)
	}
	a, err := y.Open(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if exit, err := a.Wait(t.Context()); err != nil || exit.Code != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := y.Remove(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	y.removed(h.ID)
}

// TestACloseIsNoGap: a watcher that goes and leaves the sandbox running has missed nothing.
func TestACloseIsNoGap(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	for range 20 {
		a, err := y.Open(t.Context(), h, "")
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan sandbox.Chunk, 100)
		go func() {
			defer close(read)
			for chunk := range a.Output() {
				read <- chunk
			}
		}()
		<-read // init's lines; from now on the reader waits
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		for chunk := range read {
			if chunk.Gap {
				t.Fatalf("after the close there is %+v", chunk)
			}
		}
	}
}

// TestOutputThatCannotBeRead ends with a gap.
func TestOutputThatCannotBeRead(t *testing.T) {
	y := newYard(t)
	h := y.create("/bin/echo", "hello")
	y.begin(h)
	y.wait(h)
	y.again()
	log := filepath.Join(y.box(h.ID), "log.0")
	if err := errors.Join(os.Remove(log), os.Mkdir(log, 0o700)); err != nil {
		t.Fatal(err)
	}
	a, err := y.Open(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	gaps := 0
	for chunk := range a.Output() {
		if chunk.Gap {
			gaps++
		}
	}
	if exit, err := a.Wait(t.Context()); gaps != 1 || err != nil || exit.Code != 0 {
		t.Errorf("%d gaps, %+v, %v", gaps, exit, err)
	}
}

// TestTheBoxGoesWhileItIsWaitedFor: a waiting call returns that the sandbox is gone, and names no directory.
func TestTheBoxGoesWhileItIsWaitedFor(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	a, err := y.Open(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	box, aside := y.box(h.ID), filepath.Join(t.TempDir(), "box")
	if err := os.Rename(box, aside); err != nil {
		t.Fatal(err)
	}
	kill(t, box, "sandbox-keeper")
	if exit, err := a.Wait(t.Context()); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := errors.Join(os.Rename(aside, box), y.Remove(t.Context(), h)); err != nil {
		t.Fatal(err)
	}
	y.removed(h.ID)
}

// TestSentryIsKilled: the keeper has seen it, so that the run is not lost. It ended by a signal, and what was killed is said.
func TestSentryIsKilled(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	kill(t, y.box(h.ID), "runsc-sandbox")
	if exit := y.wait(h); exit.Unknown || exit.Code != 128+9 || !strings.Contains(exit.Why, "gVisor's kernel was killed by signal 9") {
		t.Errorf("%+v", exit)
	}
	y.nothingOf(h.ID)
}

func TestOutOfMemory(t *testing.T) {
	y := newYard(t)
	h := y.create("/usr/bin/tail", "/dev/zero")
	y.begin(h)
	if exit := y.wait(h); !exit.OutOfMemory || exit.Code == 0 {
		t.Errorf("%+v", exit)
	}
}

// TestRuntimeFails: whatever is in its place, the error says so, and the same again when it is asked again.
func TestRuntimeFails(t *testing.T) {
	y := newYard(t)
	for name, c := range map[string]struct{ script, want string }{
		"missing": {"", "no such file"},
		"fails":   {"#!/bin/sh\necho words of its own >>panic.log\nexit 3\n", "words of its own"},
		"lies":    {"#!/bin/sh\necho nonsense >pid\n", "nonsense"},
		"silent":  {"#!/bin/sh\n", "did not name the process that it started"},
	} {
		h := y.create("/bin/true")
		order, err := os.ReadFile(filepath.Join(y.box(h.ID), "order.json"))
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(t.TempDir(), "runsc")
		if c.script != "" {
			if err := os.WriteFile(program, []byte(c.script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		order = bytes.ReplaceAll(order, []byte(strconv.Quote(y.options.Runsc)), []byte(strconv.Quote(program)))
		if err := os.WriteFile(filepath.Join(y.box(h.ID), "order.json"), order, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := y.Start(t.Context(), h); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, sandbox.ErrUncertain) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := y.Remove(t.Context(), h); err != nil {
			t.Error(err)
		}
		y.removed(h.ID)
	}
}

// TestDamagedBox: one sandbox that the disk has forgotten does not keep a watcher from beginning, and does not run on.
func TestDamagedBox(t *testing.T) {
	y := newYard(t)
	h := y.sleeper()
	if err := os.WriteFile(filepath.Join(y.box(h.ID), "box.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	y.again()
	if found, ok := y.listed(h); ok {
		t.Errorf("%+v", found)
	}
	y.removed(h.ID)
}

// TestLeftovers: what a watcher leaves that is killed while it makes or removes a sandbox is gone after the next start.
func TestLeftovers(t *testing.T) {
	y := newYard(t)
	const id = "0123456789abcdef0123456789abcdef"
	for _, name := range []string{"." + id, ".gone-" + id} {
		if err := os.Mkdir(y.box(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(y.box(name), "box.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	group := filepath.Join("/sys/fs/cgroup/pids/torno", string(y.options.Installation), id)
	if _, err := os.Stat("/sys/fs/cgroup/pids"); err != nil {
		group = filepath.Join("/sys/fs/cgroup/torno", string(y.options.Installation), id)
	}
	if err := os.MkdirAll(group, 0o755); err != nil {
		t.Fatal(err)
	}
	orphan := exec.Command("/bin/sleep", "1000")
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	defer orphan.Process.Kill()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(orphan.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	y.again()
	y.removed(id)
	if err := orphan.Wait(); !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

// TestRemoveDuringStart: whichever call is first, nothing is left.
func TestRemoveDuringStart(t *testing.T) {
	y := newYard(t)
	for range 5 {
		h := y.create("/bin/sleep", "1000")
		var both sync.WaitGroup
		both.Go(func() {
			if err := y.Start(t.Context(), h); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := y.Remove(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if err := y.Remove(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		y.removed(h.ID)
	}
}

// TestManyAtOnce: each has its own end and its own output.
func TestManyAtOnce(t *testing.T) {
	y := newYard(t)
	var all sync.WaitGroup
	for i := range 20 {
		h := y.create("/bin/sh", "-c", "echo "+strconv.Itoa(i)+"; exit "+strconv.Itoa(i))
		all.Go(func() {
			if err := launch(t.Context(), y, h); err != nil {
				t.Error(err)
				return
			}
			a, err := y.Open(t.Context(), h, "")
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Close()
			var out bytes.Buffer
			for chunk := range a.Output() {
				if chunk.Stream == sandbox.Stdout {
					out.Write(chunk.Bytes)
				}
			}
			if exit, err := a.Wait(t.Context()); err != nil || exit.Code != i || out.String() != strconv.Itoa(i)+"\n" {
				t.Errorf("%+v, %v, %q", exit, err, out.String())
			}
		})
	}
	all.Wait()
}
