package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"torno/sandbox/gvisor/keeper/output"
	tests "torno/test/wait"
)

func TestALife(t *testing.T) {
	box := newBox(t, 1<<20, "run", "echo one; echo two >&2; echo three; exit 5")
	wantState(t, box, Created)
	line := start(t, box)
	if stdout, stderr, gaps := readAll(t, line); stdout != "one\nthree\n" || stderr != "two\n" || gaps != 0 {
		t.Errorf("%q, %q, %d gaps", stdout, stderr, gaps)
	}
	end, err := box.AwaitEnd(t.Context())
	if err != nil || end != line.End() {
		t.Fatalf("%+v, %v; the line says %+v", end, err, line.End())
	}
	if end.Code != 5 || !end.Started || end.Asked || end.Signal != 0 || end.Trouble != "" || end.FinishedAt.Before(end.StartedAt) {
		t.Errorf("%+v", end)
	}
	wantState(t, box, Over)
}

// TestTheEndIsWrittenBeforeItIsTold: a watcher that is told the end finds it on the disk.
func TestTheEndIsWrittenBeforeItIsTold(t *testing.T) {
	for range 5 {
		box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "read x; exit 3"), Stdin: true, Log: 1 << 20})
		line := start(t, box)
		conn, err := box.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(endHello)); err != nil {
			t.Fatal(err)
		}
		if err := line.Shut(); err != nil {
			t.Fatal(err)
		}
		if f, err := output.ReadFrame(conn); err != nil || f.Kind != output.Ended {
			t.Fatalf("%c, %v", f.Kind, err)
		}
		if end, err := box.End(); err != nil || end.Code != 3 {
			t.Fatalf("%+v, %v", end, err)
		}
	}
}

// TestAnEndThatCannotBeWrittenIsTold: a watcher that is there hears how the sandbox ended, whatever becomes of the disk.
func TestAnEndThatCannotBeWrittenIsTold(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "read x; exit 3"), Stdin: true, Log: 1 << 20})
	line := start(t, box)
	if err := os.Remove(filepath.Join(box.Dir, "."+endName)); err != nil {
		t.Fatal(err)
	}
	if err := line.Shut(); err != nil {
		t.Fatal(err)
	}
	readAll(t, line)
	if end := line.End(); end.Code != 3 || !end.Started || end.Trouble != "" {
		t.Errorf("the watcher hears %+v", end)
	}
	if end, err := box.AwaitEnd(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("it was written down: %+v, %v", end, err)
	}
}

// TestAnEndHasItsOutput: a keeper that is killed when the end is known takes no output with it, also where a watcher that does not
// read holds the log.
func TestAnEndHasItsOutput(t *testing.T) {
	const piece = 4096 // is written whole or not at all
	box := newBox(t, 1, "run", fmt.Sprintf("while printf %%%ds; do printf . >>pieces; done", piece))
	stopped := start(t, box)
	if !stands(box) {
		t.Fatal("the agent was not held")
	}
	keeper := keeperOf(t, box)
	if err := box.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	end, err := box.AwaitEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(keeper, unix.SIGKILL) // unless its farewell is over
	pieces, err := os.Stat(filepath.Join(box.Dir, "pieces"))
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, gaps := readAll(t, stopped)
	printed := pieces.Size() * piece
	if int64(len(stdout)) == printed+piece {
		printed += piece // the agent was killed before it had counted the last one
	}
	if int64(len(stdout)) != printed || end.Output.Out != printed || gaps != 0 {
		t.Errorf("%d bytes and %d gaps, and the end counts %d; the agent has printed %d", len(stdout), gaps, end.Output.Out, printed)
	}
}

// TestAnEndWhoseOutputIsCut: of the log the disk has kept only a part, and whoever reads it is told so.
func TestAnEndWhoseOutputIsCut(t *testing.T) {
	for what, keeps := range map[string]struct {
		size int64
		want string
	}{"a frame": {output.HeaderSize + 4, "one\n"}, "half a frame": {output.HeaderSize + 3, ""}, "nothing": {0, ""}} {
		t.Run(what, func(t *testing.T) {
			box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "echo one; read x; echo two"), Stdin: true, Log: 1 << 20})
			line := start(t, box)
			if _, err := line.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := line.Shut(); err != nil {
				t.Fatal(err)
			}
			readAll(t, line)
			if !waitUntil(func() bool { lives, err := held(box); return err == nil && !lives }) {
				t.Fatal("the keeper does not go")
			}
			if err := os.Truncate(filepath.Join(box.Dir, "log.0"), keeps.size); err != nil {
				t.Fatal(err)
			}
			again, err := box.Attach(t.Context(), output.Progress{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if stdout, _, gaps := readAll(t, again); stdout != keeps.want || gaps != 1 {
				t.Errorf("%q and %d gaps, want %q and one", stdout, gaps, keeps.want)
			}
		})
	}
}

// TestAGapIsToldOnce: whoever reads a log whose beginning was dropped, of both streams, is told so there, and neither by the other stream
// nor at the end nor on the next line again. It is the same while the keeper lives and behind it.
func TestAGapIsToldOnce(t *testing.T) {
	for what, script := range map[string]string{
		"all of one stream": "echo first >&2; head -c 300000 /dev/zero",
		"of both streams":   "echo first >&2; head -c 300000 /dev/zero; echo second >&2",
	} {
		for _, lives := range []bool{true, false} {
			t.Run(fmt.Sprint(what, ", lives ", lives), func(t *testing.T) {
				script := script
				if lives {
					script += "; exec sleep 86322"
				}
				box := newBox(t, 1, "run", script)
				start(t, box).Close()
				if lives && !waitUntil(func() bool { return logged(box) == 300000 }) || !lives && !ended(t, box) {
					t.Fatal("the agent has not printed all")
				}
				line, err := box.Attach(t.Context(), output.Progress{})
				if err != nil {
					t.Fatal(err)
				}
				defer line.Close()
				first, err := line.Read(t.Context())
				if err != nil || !first.Gap || len(first.Bytes) > 0 {
					t.Fatalf("first there is %+v, %v", first, err)
				}
				if lives {
					if err := box.Kill(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				next, err := box.Attach(t.Context(), first.Progress)
				if err != nil {
					t.Fatal(err)
				}
				defer next.Close()
				for _, line := range []*Line{line, next} {
					stdout, stderr, gaps := readAll(t, line)
					if all := line.End().Output; gaps != 0 || int64(len(stdout)) != all.Out-first.Progress.Out || int64(len(stderr)) != all.Err-first.Progress.Err {
						t.Errorf("%d bytes, %q and %d more gaps of %v behind %v", len(stdout), stderr, gaps, all, first.Progress)
					}
				}
			})
		}
	}
}

// ended waits for the end of a sandbox.
func ended(t *testing.T, box Box) bool {
	_, err := box.AwaitEnd(t.Context())
	return err == nil
}

// logged returns how much standard output the log has taken. Standard error comes through a pipe of its own, so it tells nothing of it.
func logged(box Box) (end int64) {
	root, err := os.OpenRoot(box.Dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	log, err := output.Old(root)
	if err != nil {
		return 0 // a segment was dropped meanwhile
	}
	reader := log.Follow()
	defer reader.Close()
	for {
		frame, err := reader.Read(context.Background())
		if err != nil {
			return end
		}
		if frame.Kind == output.Stdout {
			end = frame.Offset + int64(len(frame.Bytes))
		}
	}
}

// printed says whether the log has a word.
func printed(box Box, word string) bool {
	names, _ := filepath.Glob(filepath.Join(box.Dir, "log.*"))
	return slices.ContainsFunc(names, func(name string) bool {
		text, _ := os.ReadFile(name)
		return bytes.Contains(text, []byte(word))
	})
}

// TestAPipeThatAStrangerHolds, by which it fills the agent's output without an end, or empties it, or keeps the agent's input from
// being read, keeps no end from being written down, and no keeper alive.
func TestAPipeThatAStrangerHolds(t *testing.T) {
	for what, stranger := range map[string]struct {
		descriptor, flag int
		does             func(*os.File) error
	}{
		"fills output": {1, os.O_WRONLY, func(pipe *os.File) error {
			_, err := pipe.Write([]byte("more\n"))
			return err
		}},
		"empties output": {1, os.O_RDWR, func(pipe *os.File) error {
			_, err := pipe.Read(make([]byte, 1000))
			return err
		}},
		"reads no input": {0, os.O_RDONLY, func(*os.File) error { return io.EOF }},
	} {
		t.Run(what, func(t *testing.T) {
			box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "echo one; exec sleep 86322"), Stdin: true, Log: 1 << 20})
			line := start(t, box)
			if _, err := line.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", sentryOf(t, box), stranger.descriptor), stranger.flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			var busy sync.WaitGroup
			defer busy.Wait()
			busy.Go(func() {
				for stranger.does(pipe) == nil {
				}
			})
			defer pipe.Close()
			if err := line.Input(make([]byte, 2*pipeSize)); err != nil {
				t.Fatal(err)
			}
			if err := box.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), tests.Patience)
			defer cancel()
			if end, err := box.AwaitEnd(ctx); err != nil || !end.Asked {
				t.Errorf("%+v, %v", end, err)
			}
			if !waitUntil(func() bool { lives, err := held(box); return err == nil && !lives }) {
				t.Error("the keeper does not go")
			}
		})
	}
}

// pipeSize is what a pipe holds.
const pipeSize = 64 << 10

// TestEndedAtOnce: a sandbox that is over before the watcher looks has run all the same.
func TestEndedAtOnce(t *testing.T) {
	for range 10 {
		box := newBox(t, 1<<20, "run", "exit 0")
		if stdout, _, _ := readAll(t, start(t, box)); stdout != "" {
			t.Errorf("%q", stdout)
		}
	}
}

func TestKill(t *testing.T) {
	box := newBox(t, 1<<20, "run", "trap '' INT TERM; echo up; sleep 300 & wait")
	line := start(t, box)
	if out, err := line.Read(t.Context()); err != nil || string(out.Bytes) != "up\n" {
		t.Fatalf("%q, %v", out.Bytes, err)
	}
	for range 2 { // also when it is over
		if err := box.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if end, err := box.AwaitEnd(t.Context()); err != nil || end.Signal != int(unix.SIGKILL) || !end.Asked {
		t.Fatalf("%+v, %v", end, err)
	}
	if err := box.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKilledByAStranger(t *testing.T) {
	box := newBox(t, 1<<20, "run", "echo up; exec sleep 300")
	line := start(t, box)
	if _, err := line.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(sentryOf(t, box), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if end, err := box.AwaitEnd(t.Context()); err != nil || end.Signal != int(unix.SIGKILL) || end.Asked {
		t.Fatalf("%+v, %v", end, err)
	}
}

func sentryOf(t testing.TB, box Box) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(box.Dir, PidName))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestNothingIsLeft: what the sentry leaves, dead or alive and with or without a group, ends before the end is told.
func TestNothingIsLeft(t *testing.T) {
	script := "(trap '' HUP TERM; setsid setsid sleep 300 & setsid sleep 300) & sleep 300 & read x; exit 4"
	for _, grouped := range []bool{false, true} {
		t.Run(strconv.FormatBool(grouped), func(t *testing.T) {
			order := Order{Argv: standInArgv("run", script), Stdin: true, Log: 1 << 20}
			if grouped {
				order = inGroup(t, order)
			}
			box := boxIn(t, t.TempDir(), order)
			line := start(t, box)
			keeper := keeperOf(t, box)
			if err := line.Shut(); err != nil {
				t.Fatal(err)
			}
			if _, err := box.AwaitEnd(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := descendants(keeper); len(left) > 0 {
				t.Errorf("of the sandbox there are left %v", left)
			}
			readAll(t, line)
			if grouped && !waitUntil(func() bool { _, err := os.Stat(firstDir(order)); return errors.Is(err, os.ErrNotExist) }) {
				t.Error("the group is left")
			}
		})
	}
}

func firstDir(order Order) string {
	for _, dir := range order.Group.Dirs {
		return dir
	}
	return ""
}

// descendants are the children of a process, by what every process says of its parent.
func descendants(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		_, after, ok := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if err == nil && ok && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestOnlyKillEndsAKeeper(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "echo up; read x; exit 4"), Stdin: true, Log: 1 << 20})
	line := start(t, box)
	if _, err := line.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeper := keeperOf(t, box)
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGALRM} {
		if err := unix.Kill(keeper, signal); err != nil {
			t.Fatal(err)
		}
	}
	if err := line.Shut(); err != nil {
		t.Fatal(err)
	}
	if end, err := box.AwaitEnd(t.Context()); err != nil || end.Code != 4 {
		t.Fatalf("%+v, %v", end, err)
	}
}

// TestTheRuntimeHasItsStreamsAlone: no socket, lock or log of ours reaches it, and what it starts need not make room for
// descriptors.
func TestTheRuntimeHasItsStreamsAlone(t *testing.T) {
	leaked, err := unix.Dup(0) // as a careless shell does with those that it starts
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	box := newBox(t, 1<<20, "descriptors")
	stdout, _, _ := readAll(t, start(t, box))
	for _, secret := range []string{"socket:", box.Dir, "eventpoll", "eventfd", "pidfd"} {
		if strings.Contains(strings.ReplaceAll(stdout, "/fd\n", ""), secret) {
			t.Errorf("the runtime has a %s", secret)
		}
	}
	if n := strings.Count(stdout, " -> "); n != 5 || !strings.Contains(stdout, " 200 -> /dev/null\n") { // ls has opened the directory itself
		t.Errorf("%d descriptors:\n%s", n, stdout)
	}
	if !strings.Contains(stdout, "FDSize:\t256\n") {
		t.Errorf("there is room for few descriptors:\n%s", stdout)
	}
}

func TestThePathMayBeLong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 200), strings.Repeat("e", 200))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	box := boxIn(t, dir, Order{Argv: standInArgv("run", "echo up; exec sleep 300"), Log: 1 << 20})
	line := start(t, box)
	line.Close()
	again, err := box.Attach(t.Context(), output.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if out, err := again.Read(t.Context()); err != nil || string(out.Bytes) != "up\n" {
		t.Fatalf("%q, %v", out.Bytes, err)
	}
}

func TestAGroupBoundsTheSandbox(t *testing.T) {
	order := inGroup(t, Order{Argv: shArgv("exec tail /dev/zero"), Log: 1 << 20})
	order.Group.Limits.Memory = 16 << 20
	box := boxIn(t, t.TempDir(), order)
	line := start(t, box)
	readAll(t, line)
	if end := line.End(); end.Signal != int(unix.SIGKILL) || end.Asked || end.Use.Killed != 1 || end.Use.PeakMemory < 1<<20 {
		t.Errorf("%+v", end)
	}
	if text, err := os.ReadFile(filepath.Join(box.Dir, logName)); err != nil || len(text) > 0 {
		t.Errorf("the keeper says %q (%v)", text, err)
	}
}

func TestAnEndIsWhole(t *testing.T) {
	box, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := reserveEnd(box); err != nil {
		t.Fatal(err)
	}
	want := End{Code: 3, Trouble: strings.Repeat("\x01", maxSaid)} // the longest
	if err := writeEnd(box, want); err != nil {
		t.Fatal(err)
	}
	info, err := box.Stat(endName)
	if err != nil || info.Size() != maxEnd {
		t.Errorf("it takes %v bytes and %d were reserved (%v)", info.Size(), maxEnd, err)
	}
	for _, nonsense := range []string{"", "\x00\x00\x00", "{", fmt.Sprint(want)} {
		if err := box.WriteFile(endName, []byte(nonsense), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Box{Dir: box.Name()}).End(); !errors.Is(err, ErrGone) {
			t.Errorf("%.20q: %v", nonsense, err)
		}
	}
}

// TestAnEndIsWrittenWhenThereIsRoom: some file systems copy what a program changes, so that even a reserved place needs new room.
func TestAnEndIsWrittenWhenThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		until  time.Duration // when there is room
		writes bool
		waits  bool
	}{
		"soon":       {unix.ENOSPC, toWriteEnd / 2, true, true},
		"of a quota": {unix.EDQUOT, toWriteEnd / 2, true, true},
		"too late":   {unix.ENOSPC, 2 * toWriteEnd, false, true},
		"a bad disk": {unix.EIO, toWriteEnd / 2, false, false},
		"no box":     {os.ErrNotExist, toWriteEnd / 2, false, false},
		"no trouble": {nil, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				err := whenThereIsRoom(func() error {
					if time.Since(begin) < c.until {
						return c.err
					}
					return nil
				})
				if waited := time.Since(begin); c.writes != (err == nil) || c.waits != (waited > 0) {
					t.Errorf("%v, after %v", err, waited)
				}
			})
		})
	}
}
