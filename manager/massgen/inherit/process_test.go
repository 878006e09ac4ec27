package inherit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
)

func start(t *testing.T, timeout time.Duration, script string) (*Process, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := Start(Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Cancel(); <-p.Done() })
	return p, dir
}

// eventually polls for something that a process does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it is not so yet: ", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A process that ends by itself: its exit code, the ends of what it printed, and no environment of a Claude Code.
func TestAnEnd(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	p, _ := start(t, time.Minute, `echo "out $CLAUDECODE"; echo err >&2; exit 3`)
	end := p.End()
	if end.Reason != delegation.ReasonExited || end.ExitCode != 3 || end.Stdout != "out \n" || end.Stderr != "err\n" {
		t.Errorf("got %+v", end)
	}
	if _, err := Start(Command{Argv: []string{"/there/is/none"}, Timeout: time.Minute}); err == nil {
		t.Error("a program that there is not was started")
	}
}

// What is printed without end takes no memory.
func TestOutputIsBounded(t *testing.T) {
	p, _ := start(t, time.Minute, `head -c 50000000 /dev/zero | tr '\0' x; echo last`)
	if end := p.End(); len(end.Stdout) > delegation.TailBytes || !strings.HasSuffix(end.Stdout, "xlast\n") || cap(p.out.data) > 4*delegation.TailBytes {
		t.Errorf("%d bytes are kept, in %d", len(end.Stdout), cap(p.out.data))
	}
}

// S§1.9: cancelled by INT, which lets MassGen save a turn; and its whole group is gone, whether or not a part of it listens.
func TestACancelEndsTheGroup(t *testing.T) {
	p, dir := start(t, time.Minute, `sh -c 'trap "" INT TERM; echo $$ >pid.part; mv pid.part pid; while :; do sleep 0.05; done' & trap 'echo saved >saved; exit 7' INT; echo >ready; while :; do sleep 0.05; done`)
	eventually(t, "both run", func() bool { return exists(filepath.Join(dir, "pid")) && exists(filepath.Join(dir, "ready")) })
	p.Cancel()
	p.Cancel()
	end := p.End()
	if end.Reason != delegation.ReasonCancelled || end.ExitCode != 7 || !exists(filepath.Join(dir, "saved")) {
		t.Errorf("got %+v", end)
	}
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deaf part is gone", func() bool { return gone(pid) })
}

// gone says whether a process is dead, also where nobody has asked for its end yet.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// Its time is up.
func TestADeadline(t *testing.T) {
	p, _ := start(t, 50*time.Millisecond, `sleep 600`)
	if end := p.End(); end.Reason != delegation.ReasonDeadline || end.ExitCode != 128+int(syscall.SIGTERM) {
		t.Errorf("got %+v", end)
	}
}
