//go:build linux

package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
	"torno/test/wait"
)

// patience is how long anything may take before a test gives up.
const patience = wait.Patience

// running is a started box.
type running struct {
	cmd            *exec.Cmd
	uid            int
	stdout, stderr *stream
}

// result is a box that has ended.
type result struct {
	status         syscall.WaitStatus
	stdout, stderr string
	held           bool // init said that it holds, which stderr is without
}

func launch(t *testing.T, cmd *exec.Cmd, p plan) *running {
	t.Helper()
	r := &running{cmd: cmd, uid: p.UID}
	r.stdout, cmd.Stdout = newStream(t)
	if cmd.Stderr == nil {
		r.stderr, cmd.Stderr = newStream(t)
	}
	if err := startBlocking(cmd, p.Block); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout.(io.Closer).Close()
	cmd.Stderr.(io.Closer).Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // when the test has failed before the end
		_ = cmd.Wait()
	})
	return r
}

// startBlocking starts a process in which every thread has the signals blocked: it inherits the mask of this one.
func startBlocking(cmd *exec.Cmd, signals []int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var blocked, before unix.Sigset_t
	for _, n := range signals {
		blocked.Val[0] |= 1 << (n - 1)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before); err != nil {
		return err
	}
	return errors.Join(cmd.Start(), unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
}

// signal goes to process 1 of the box, as an engine sends it.
func (r *running) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end of the box and of its output.
func (r *running) wait(t *testing.T) result {
	t.Helper()
	stop := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	err := r.cmd.Wait()
	if !stop.Stop() {
		t.Fatalf("the box did not end in %v; stdout %q, stderr %q", patience, r.stdout.text(), r.stderr.text())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	<-r.stdout.ended
	<-r.stderr.ended
	res := result{status: r.cmd.ProcessState.Sys().(syscall.WaitStatus), stdout: r.stdout.text()}
	before, said, held := strings.Cut(r.stderr.text(), runfile.Holding)
	res.stderr, res.held = before+said, held // before is what a test has put there
	if res.status.ExitStatus() == boxFailed {
		t.Fatalf("the box could not be made: %s", res.stderr)
	}
	return res
}

// agentSaid is standard error after the started line, which must be there.
func (r result) agentSaid(t *testing.T) string {
	t.Helper()
	line, rest, _ := strings.Cut(r.stderr, "\n")
	if _, err := runfile.ParseFirstLine(line); err != nil {
		t.Fatalf("standard error begins with %q: %v", line, err)
	}
	return rest
}

// exits checks how the agent ended, and that init said nothing of its own.
func (r result) exits(t *testing.T, code int) {
	t.Helper()
	if said := r.agentSaid(t); !r.status.Exited() || r.status.ExitStatus() != runfile.ExitFor(code) || said != "" {
		t.Fatalf("status %#x instead of exit %d; stdout %q, stderr %q", r.status, code, r.stdout, said)
	}
}

// stream is everything that a box wrote to one descriptor.
type stream struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	more  chan struct{} // closed and replaced when something comes
	ended chan struct{}
	read  *os.File
}

// newStream is a pipe and what comes out of it.
func newStream(t *testing.T) (*stream, *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return collect(read), write
}

func collect(read *os.File) *stream {
	s := &stream{more: make(chan struct{}), ended: make(chan struct{}), read: read}
	go func() {
		defer close(s.ended)
		defer read.Close()
		_, _ = io.Copy(s, read) // a pipe ends, or the test does
	}()
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
	return s.buf.Write(p)
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// close stops reading.
func (s *stream) close(t *testing.T) {
	t.Helper()
	if err := s.read.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

// until waits for a text.
func (s *stream) until(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		found, more := strings.Contains(s.buf.String(), text), s.more
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-s.ended:
			if !strings.Contains(s.text(), text) {
				t.Fatalf("ended without %q: %q", text, s.text())
			}
			return
		case <-deadline:
			t.Fatalf("no %q in %v: %q", text, patience, s.text())
		}
	}
}

// processesOf are the host's pids of a uid's processes.
func processesOf(t *testing.T, uid int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + entry.Name() + "/status")
		if err == nil && strings.Contains(string(status), "\nUid:\t"+strconv.Itoa(uid)+"\t") {
			pids = append(pids, pid)
		}
	}
	return pids
}
