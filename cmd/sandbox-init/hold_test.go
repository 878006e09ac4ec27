//go:build linux

package main_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/internal/runfile"
	"torno/test/wait"
)

// TestHoldsUntilItIsReleased: the run file is not there yet when init begins, and init does not miss it.
func TestHoldsUntilItIsReleased(t *testing.T) {
	b := newBox(t, marks)
	read, write := io.Pipe()
	b.word, b.stdin = "", read
	var path string
	b.put = func(place string) error { path = place; return nil }
	r := b.start(t)
	r.stderr.until(t, runfile.Holding)
	if err := runfile.Write(path, b.file); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{runfile.Release[:3], runfile.Release[3:]} {
		if _, err := io.WriteString(write, part); err != nil {
			t.Fatal(err)
		}
	}
	write.Close()
	res := r.wait(t)
	if said := res.agentSaid(t); !res.held || said != "ran\n" || res.stdout != "ran\n" {
		t.Errorf("held %t, stdout %q, stderr %q", res.held, res.stdout, res.stderr)
	}
}

// TestWhatIsNotReleasedNeverRuns: the input ends, or another word comes.
func TestWhatIsNotReleasedNeverRuns(t *testing.T) {
	for name, word := range map[string]string{
		"nothing": "", "a part of the word": runfile.Release[:5], "another word": strings.Repeat("x", len(runfile.Release)),
	} {
		b := newBox(t, marks)
		b.word = word
		r := b.run(t)
		if r.status.ExitStatus() != runfile.AbandonedExit || !r.held || r.stderr != "" || r.stdout != "" {
			t.Errorf("%s: status %#x, stdout %q, stderr %q", name, r.status, r.stdout, r.stderr)
		}
		if _, err := os.Lstat(b.in("ran")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the agent's mark: %v", name, err)
		}
	}
}

// TestAnAgentWithoutInputReadsNothing: what follows the word is not its own, and the descriptor is another one.
func TestAnAgentWithoutInputReadsNothing(t *testing.T) {
	b := newBox(t, `cat; readlink /proc/self/fd/0`)
	b.stdin = strings.NewReader("not for the agent\n")
	r := b.run(t)
	r.exits(t, 0)
	if r.stdout != "/dev/null\n" {
		t.Errorf("%q", r.stdout)
	}
}

// TestIsReadyBeforeItIsReleased: what is the same for every run is done when the word comes, and the host can still look.
func TestIsReadyBeforeItIsReleased(t *testing.T) {
	b := newBox(t, marks)
	read, write := io.Pipe()
	b.word, b.stdin = "", read
	b.put = func(string) error { return nil } // there is no run yet
	r := b.start(t)
	r.stderr.until(t, runfile.Holding)
	proc := fmt.Sprintf("/proc/%d/", r.cmd.Process.Pid)
	wait.Until(t, "all threads are under the filter", func() bool {
		tasks, err := filepath.Glob(proc + "task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		filtered := 0
		for _, task := range tasks {
			if status, _ := os.ReadFile(task); strings.Contains(string(status), "\nSeccomp:\t2\n") {
				filtered++
			}
		}
		return filtered >= 5 && filtered == len(tasks)
	})
	if info, err := os.Stat(proc + "exe"); err != nil || info.Size() == 0 {
		t.Errorf("the host cannot look: %v", err)
	}
	if owner, err := os.Stat(proc); err != nil || owner.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Errorf("init is shut already, so that its own user cannot look: %v", err)
	}
	write.Close()
	if res := r.wait(t); res.status.ExitStatus() != runfile.AbandonedExit || res.stderr != "" {
		t.Errorf("status %#x, stderr %q", res.status, res.stderr)
	}
}

// TestSaysNothingBeforeItIsReleased: a box in which init cannot go on fails when it has the word, and is given up like every other one before.
func TestSaysNothingBeforeItIsReleased(t *testing.T) {
	b := newBox(t, marks)
	b.word, b.filter = "", nil
	r := b.run(t)
	if r.status.ExitStatus() != runfile.AbandonedExit || !r.held || r.stderr != "" || r.stdout != "" {
		t.Errorf("status %#x, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}
