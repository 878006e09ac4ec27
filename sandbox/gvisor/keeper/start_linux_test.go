package keeper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/missing"
)

// TestThePidFileLies: only a process that the runtime has left to us is waited for and killed.
func TestThePidFileLies(t *testing.T) {
	stranger := exec.Command("/bin/sleep", "300")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stranger.Process.Kill()
		stranger.Wait()
	}()
	for _, lie := range []string{strconv.Itoa(stranger.Process.Pid), "1", "0", "-1", "4194305", "text", "", strings.Repeat("9", 1<<16)} {
		box := newBox(t, 1<<20, "lie", lie)
		if len(lie) > 100 { // no word of a command line
			box = boxIn(t, t.TempDir(), Order{Argv: []string{"/bin/sh", "-c", "head -c 65536 /dev/zero | tr '\\0' 9 >pid"}, Log: 1 << 20})
		}
		err := startFails(t, box)
		if startErr := new(StartError); !errors.As(err, &startErr) || !strings.Contains(err.Error(), "the runtime says that it started") || len(err.Error()) > 300 {
			t.Errorf("pid file %.20q: %v", lie, err)
		}
		if !isAlive(stranger.Process.Pid) {
			t.Fatalf("pid file %.20q: a stranger was killed", lie)
		}
		if end, err := box.End(); err != nil || end.Started {
			t.Errorf("pid file %.20q: %+v, %v", lie, end, err)
		}
	}
}

func TestTheRuntimeFails(t *testing.T) {
	missing := Order{Argv: []string{"/nonexistent/runsc"}, Log: 1 << 20}
	for want, box := range map[string]Box{
		"in its own words":         newBox(t, 1<<20, "fail", "in its own words"),
		"the runtime ended with 7": newBox(t, 1<<20, "fail", ""),
		"did not name the process": newBox(t, 1<<20, "say-nothing"),
		"no such file":             boxIn(t, t.TempDir(), missing),
		"killed by signal 15":      boxIn(t, t.TempDir(), Order{Argv: []string{"/bin/sh", "-c", "kill $$"}, Log: 1 << 20}),
	} {
		err := startFails(t, box)
		if startErr := new(StartError); !errors.As(err, &startErr) || !strings.Contains(startErr.Text, want) {
			t.Errorf("%v, want %q", err, want)
		}
		if end, err := box.End(); err != nil || end.Started || end.NotStarted() == nil {
			t.Errorf("%q: %+v, %v", want, end, err)
		}
		if !waitUntil(func() bool { return len(living(box.Dir)) == 0 }) {
			t.Errorf("%q: left are %v", want, living(box.Dir))
		}
	}
	if left := living("sleep\x0086321"); len(left) > 0 {
		t.Errorf("what runtimes that failed have started lives: %v", left)
	}
}

// TestKillWhileStarting: a runtime that hangs is killed, with what it has started.
func TestKillWhileStarting(t *testing.T) {
	for _, grouped := range []bool{false, true} {
		t.Run(strconv.FormatBool(grouped), func(t *testing.T) {
			order := Order{Argv: standInArgv("hang", ""), Log: 1 << 20}
			if grouped {
				order = inGroup(t, order)
			}
			box := boxIn(t, t.TempDir(), order)
			failed := make(chan error)
			go func() {
				line, err := box.Start(t.Context(), self(t), apart())
				if err == nil {
					line.Close()
				}
				failed <- err
			}()
			if !waitUntil(func() bool { _, err := os.Stat(filepath.Join(box.Dir, "hangs")); return err == nil }) {
				t.Fatal("the runtime does not come so far")
			}
			if err := box.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "it was ended before it ran") {
				t.Errorf("%v", err)
			}
			if end, err := box.End(); err != nil || !end.Asked || end.Started || end.Signal != int(unix.SIGKILL) {
				t.Errorf("%+v, %v", end, err)
			}
			if left := living("sleep\x0086321"); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// TestKilledWhileTheRuntimeStarts: it is unknown whether the sandbox started, so the box is lost, and the launcher kills its runtime.
func TestKilledWhileTheRuntimeStarts(t *testing.T) {
	box := newBox(t, 1<<20, "hang", "")
	failed := make(chan error)
	go func() {
		line, err := box.Start(t.Context(), self(t), apart())
		if err == nil {
			line.Close()
		}
		failed <- err
	}()
	hangs := filepath.Join(box.Dir, "hangs")
	if !waitUntil(func() bool { _, err := os.Stat(hangs); return err == nil }) {
		t.Fatal("the runtime does not come so far")
	}
	killKeeper(t, box)
	if err := <-failed; !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	wantState(t, box, Lost)
	if err := startFails(t, box); !errors.Is(err, ErrGone) {
		t.Errorf("the second time: %v", err)
	}
	text, err := os.ReadFile(hangs)
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !isAlive(runtime) {
		t.Error("the runtime has ended with its keeper: nothing is shown")
	}
	for _, pid := range append(living("sleep\x0086321"), runtime) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// TestABoxIsStartedOnce: whatever becomes of the first keeper, no second starts anything.
func TestABoxIsStartedOnce(t *testing.T) {
	for what, end := range map[string]func(Box){
		"lives":  func(Box) {},
		"killed": func(b Box) { killKeeper(t, b) },
		"over":   func(b Box) { b.Kill(t.Context()); b.AwaitEnd(t.Context()) },
	} {
		t.Run(what, func(t *testing.T) {
			counter := filepath.Join(t.TempDir(), "starts")
			box := newBox(t, 1<<20, "run", "echo x >>"+counter+"; echo up; exec sleep 300")
			line := start(t, box)
			if _, err := line.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			sentry := sentryOf(t, box)
			end(box)
			if err := startFails(t, box); !errors.Is(err, ErrGone) {
				t.Errorf("%v", err)
			}
			if starts, err := os.ReadFile(counter); err != nil || string(starts) != "x\n" {
				t.Errorf("it was started %d times (%v)", len(starts)/2, err)
			}
			unix.Kill(sentry, unix.SIGKILL)
		})
	}
}

// TestKilledAtEveryPoint: a keeper that is killed leaves a box that was never started, or is lost, or over.
func TestKilledAtEveryPoint(t *testing.T) {
	seen := map[State]int{}
	for delay := range 40 {
		counter := filepath.Join(t.TempDir(), "starts") // its own, since what was started may come to it late
		box := boxIn(t, t.TempDir(), Order{Argv: shArgv("echo x >>" + counter), Log: 1 << 20})
		line, theirs, err := box.newPair()
		if err != nil {
			t.Fatal(err)
		}
		if err := box.execute(self(t), apart(), []*os.File{theirs}); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		for range delay * 40 { // system calls of ours, for time that passes
			unix.Getppid()
			os.Lstat(box.Dir)
		}
		for _, pid := range living(box.Dir) {
			unix.Kill(pid, unix.SIGKILL)
		}
		line.Close()
		if !waitUntil(func() bool { state, err := box.State(); return err == nil && state != Live }) {
			t.Fatal("a keeper that was killed holds its box")
		}
		state, err := box.State()
		if err != nil {
			t.Fatal(err)
		}
		seen[state]++
		if starts, _ := os.ReadFile(counter); state == Created && len(starts) > 0 {
			t.Fatal("the box says that it was never started, and it was")
		}
		if state != Created {
			if err := startFails(t, box); !errors.Is(err, ErrGone) {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%v", seen)
}

// TestLooksDoNotDisturb: a look whether there is a keeper does not stop a keeper that begins at that moment.
func TestLooksDoNotDisturb(t *testing.T) {
	box := Box{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(box.Dir, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					box.State()
				}
			}
		})
	}
	for range 20_000 {
		taken, err := box.Lock()
		if err != nil {
			t.Error(err)
			break
		}
		taken.Close()
	}
	close(done)
	looking.Wait()
}

// TestALockedBoxIsNotStarted: while a launcher removes a box, a keeper that comes late cannot start in it.
func TestALockedBoxIsNotStarted(t *testing.T) {
	box := newBox(t, 1<<20, "run", "exit 0")
	taken, err := box.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := startFails(t, box); !strings.Contains(err.Error(), "the box has a keeper") {
		t.Error(err)
	}
	if _, err := box.Lock(); !IsHeld(err) {
		t.Errorf("it was locked twice: %v", err)
	}
	taken.Close()
	wantState(t, box, Created)
	readAll(t, start(t, box))
}

// TestThereIsNoProgram: nothing was started, which can be said.
func TestThereIsNoProgram(t *testing.T) {
	box := newBox(t, 1<<20, "run", "exit 0")
	if line, err := box.Start(t.Context(), "/nonexistent/sandbox-keeper", apart()); line != nil || !strings.Contains(err.Error(), "/nonexistent/sandbox-keeper") {
		t.Error(err)
	}
	wantState(t, box, Created)
	line, err := box.Start(t.Context(), "/bin/false", apart())
	if startErr := new(StartError); line != nil || !errors.As(err, &startErr) {
		t.Errorf("%v", err)
	}
	wantState(t, box, Created)
}

// TestFullDisk: what is printed is lost, and the end is not.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "a small disk is mounted by root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	box := boxIn(t, dir, Order{Argv: standInArgv("run", "head -c 4000000 /dev/zero; read x; exit 9"), Stdin: true, Log: 8 << 20})
	line := start(t, box)
	full := false
	for n := 0; !full; n++ { // also by others than the agent
		full = os.WriteFile(filepath.Join(dir, "filler"+strconv.Itoa(n)), make([]byte, 4096), 0o600) != nil
	}
	if err := line.Shut(); err != nil {
		t.Fatal(err)
	}
	line.Close()
	if end, err := box.AwaitEnd(t.Context()); err != nil || end.Code != 9 || end.Trouble != "" {
		t.Fatalf("%+v, %v", end, err)
	}
}
