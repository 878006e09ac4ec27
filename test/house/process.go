package house

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"torno/delegation"
	"torno/test/wait"
)

// Start runs the watcher and waits until its door answers.
func (h *House) Start() {
	h.Helper()
	said := len(h.Said())
	h.Launch()
	h.Eventually("the watcher answers", func() bool {
		select {
		case err := <-h.exited:
			h.process = nil
			h.Fatalf("the watcher ended: %v\n%s", err, h.Said())
		default:
		}
		_, err := h.Client.Status(h.Context())
		return err == nil && h.Exists(delegation.HeartbeatName) && strings.Contains(h.Said()[said:], "serving ") // and not the one before
	})
}

// Launch runs the watcher and does not wait for it.
func (h *House) Launch() {
	h.Helper()
	h.process = h.Command("watcher", "run", "--config", h.Config)
	h.process.Stderr, h.process.Stdout = (*log)(h), (*log)(h)
	h.Must(h.process.Start())
	h.exited = make(chan error, 1)
	go func(p *exec.Cmd, exited chan<- error) { exited <- p.Wait() }(h.process, h.exited)
}

// Killed waits until the watcher has died of a KILL that the house has not sent.
func (h *House) Killed() {
	h.Helper()
	select {
	case <-h.exited:
	case <-time.After(wait.Patient(Patience)):
		h.Fatalf("the watcher does not die\n%s", h.Said())
	}
	if status, ok := h.process.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		h.Fatalf("the watcher ended otherwise: %s\n%s", h.process.ProcessState, h.Said())
	}
	h.process = nil
}

// log collects what the watcher says.
type log House

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// Said is all that the watchers of this house have logged.
func (h *House) Said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// Signal sends the watcher a signal and waits for its end.
func (h *House) Signal(s syscall.Signal) error {
	h.Helper()
	h.Must(h.process.Process.Signal(s))
	select {
	case err := <-h.exited:
		h.process = nil
		return err
	case <-time.After(wait.Patient(Patience)):
		h.Fatalf("the watcher did not end after %s\n%s", s, h.Said())
		return nil
	}
}

// Stop has the watcher stand still, until it is let on.
func (h *House) Stop() (letOn func()) {
	h.Helper()
	stopped := h.process.Process
	if err := stopped.Signal(syscall.SIGSTOP); !errors.Is(err, os.ErrProcessDone) { // it may just have died at its point
		h.Must(err)
	}
	letOn = sync.OnceFunc(func() { _ = stopped.Signal(syscall.SIGCONT) }) // it may have been killed since
	h.Cleanup(letOn)
	return letOn
}

// PID is the watcher's process.
func (h *House) PID() int { return h.process.Process.Pid }

// Memory is what the watcher has in memory: what is its own, which no other process has a use for, and the part of its program's file that
// is mapped, which the system shares among all that run it and may drop whenever it wants.
func (h *House) Memory() (own, file int64) {
	h.Helper()
	for line := range strings.Lines(h.Read(fmt.Sprintf("/proc/%d/status", h.PID()))) {
		key, kilobytes, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), " kB"), ":")
		of := map[string]*int64{"RssAnon": &own, "RssFile": &file}[key]
		if of == nil {
			continue
		}
		_, err := fmt.Sscan(kilobytes, of)
		h.Must(err)
		*of <<= 10
	}
	if own == 0 || file == 0 {
		h.Fatal("the system does not say what memory the watcher has")
	}
	return own, file
}

// Files is how many files the watcher has open.
func (h *House) Files() int {
	h.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.PID()))
	h.Must(err)
	return len(open)
}

// Ticks is the processor time of the watcher, in hundredths of a second.
func (h *House) Ticks() (ticks int) {
	h.Helper()
	stat := h.Read(fmt.Sprintf("/proc/%d/stat", h.PID()))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var user, system int
	_, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	h.Must(err)
	return user + system
}
