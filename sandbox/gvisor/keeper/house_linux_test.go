package keeper

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/cgroups"
	"torno/internal/retry"
	"torno/sandbox/gvisor/keeper/output"
	"torno/test/missing"
	tests "torno/test/wait"
)

// newBox is a box with an order for the stand-in. After the test nothing of it runs.
func newBox(t testing.TB, log int64, words ...string) Box {
	t.Helper()
	return boxIn(t, t.TempDir(), Order{Argv: standInArgv(words...), Trouble: []string{"runtime.log"}, Log: log})
}

func standInArgv(words ...string) []string {
	return append([]string{"/proc/self/exe", asRuntime}, words...)
}

// shArgv is a runtime that takes little memory: it starts a script as the sentry.
func shArgv(script string) []string {
	return []string{"/bin/sh", "-c", "/bin/bash -c '" + script + "' & echo $! >pid"}
}

func boxIn(t testing.TB, dir string, order Order) Box {
	t.Helper()
	if err := WriteOrder(dir, order); err != nil {
		t.Fatal(err)
	}
	box := Box{dir, new(Children)}
	t.Cleanup(func() { clearBox(t, box) })
	return box
}

// clearBox ends what a test has left of a box.
func clearBox(t testing.TB, box Box) {
	if _, err := os.Stat(box.Dir); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tests.Patience)
	defer cancel()
	for deadline := time.Now().Add(tests.Patience); time.Now().Before(deadline); time.Sleep(retry.Soon) {
		taken, err := box.Lock()
		if err == nil {
			taken.Close()
			if said := tail(filepath.Join(box.Dir, logName)); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic") {
				t.Error(said)
			}
			return
		}
		if err := errors.Join(box.Dismiss(ctx), ctx.Err()); err != nil {
			t.Errorf("end the keeper of %s: %v", box.Dir, err)
			return
		}
	}
}

func self(t testing.TB) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func start(t testing.TB, box Box) *Line {
	t.Helper()
	line, err := box.Start(t.Context(), self(t), apart())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	if err := line.Release(); err != nil && !errors.Is(err, unix.EPIPE) {
		t.Fatal(err)
	}
	return line
}

// startFails starts what cannot be started.
func startFails(t testing.TB, box Box) error {
	t.Helper()
	line, err := box.Start(t.Context(), self(t), apart())
	if err == nil {
		line.Close()
		t.Fatal("it was started")
	}
	return err
}

// readAll reads a line to its end.
func readAll(t testing.TB, line *Line) (stdout, stderr string, gaps int) {
	t.Helper()
	for {
		out, err := line.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return stdout, stderr, gaps
		}
		if err != nil {
			t.Fatal(err)
		}
		if out.Gap {
			gaps++
		}
		if out.Kind == output.Stderr {
			stderr += string(out.Bytes)
		} else {
			stdout += string(out.Bytes)
		}
	}
}

// keeperOf is the keeper's process.
func keeperOf(t testing.TB, box Box) int {
	t.Helper()
	for _, pid := range living(box.Dir) {
		if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && exe == self(t) {
			return pid
		}
	}
	t.Fatalf("no process keeps %s", box.Dir)
	return 0
}

// killKeeper kills it, and waits until it is gone.
func killKeeper(t testing.TB, box Box) {
	t.Helper()
	if err := unix.Kill(keeperOf(t, box), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !waitUntil(func() bool { state, err := box.State(); return err == nil && state != Live }) {
		t.Fatal("a keeper that was killed holds its box")
	}
}

func wantState(t testing.TB, box Box, want State) {
	t.Helper()
	if state, err := box.State(); err != nil || state != want {
		t.Fatalf("the box is %q (%v), want %q", state, err, want)
	}
}

// inGroup gives a box a control group of the test's own.
func inGroup(t testing.TB, order Order) Order {
	t.Helper()
	if os.Geteuid() != 0 {
		missing.Skip(t, "groups are made by root")
	}
	tree, err := cgroups.Find()
	if err != nil {
		t.Fatal(err)
	}
	name := "torno-test-" + strconv.Itoa(os.Getpid())
	plan := tree.Plan(filepath.Join(name, filepath.Base(t.Name())), cgroups.Limits{Memory: 128 << 20, CPUs: 2000, Pids: 100})
	order.Group = &plan
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(plan.Group().Remove(ctx), tree.Plan(name, cgroups.Limits{}).Group().Remove(ctx)); err != nil {
			t.Error(err)
		}
	})
	return order
}

// held says whether a keeper lives.
func held(box Box) (bool, error) {
	root, err := os.OpenRoot(box.Dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	return isHeld(root)
}
