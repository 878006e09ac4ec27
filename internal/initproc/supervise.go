//go:build linux

package initproc

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killed is how long init waits for what it has killed. Nothing but a process that hangs in the kernel takes longer.
const killed = 10 * time.Second

// supervise reaps and forwards until the agent has ended, then ends everything else, and returns the agent's exit code.
func (r *run) supervise(agent int) int {
	status := make(chan unix.WaitStatus, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		reap(agent, status)
	}()
	for {
		select {
		case sig := <-r.signals:
			if number, ok := sig.(syscall.Signal); ok {
				_ = unix.Kill(-agent, number) // an agent that has just ended needs none
			}
		case end := <-status:
			killRest(gone)
			return exitCode(end)
		}
	}
}

// reap waits for every process that has init as its parent, as orphans have, until none is left.
func reap(agent int, status chan<- unix.WaitStatus) {
	for {
		var end unix.WaitStatus
		pid, err := unix.Wait4(-1, &end, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case pid == agent:
			status <- end
		}
	}
}

// killRest kills whatever is left in the sandbox. The kernel lets no process be born while it goes through them.
func killRest(gone <-chan struct{}) {
	_ = unix.Kill(-1, unix.SIGKILL) // ESRCH: nothing is left
	select {
	case <-gone:
	case <-time.After(killed):
		warn("a process cannot be killed; it is left to the kernel")
	}
}

func exitCode(end unix.WaitStatus) int {
	if end.Signaled() {
		return 128 + int(end.Signal())
	}
	return end.ExitStatus()
}
