//go:build linux

package initproc

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/boot"
)

// killed is how long init waits for the processes that it has killed. Only a process that hangs in the kernel takes
// longer.
const killed = 10 * time.Second

// supervise reaps children and forwards signals until the agent has ended or its time is over. Then it ends everything
// else. It returns the agent's exit code, and whether init is alone.
func (r *run) supervise(agent int, limit *boot.Backstop) (code int, alone bool) {
	for {
		select {
		case <-limit.C():
			if limit.Over() {
				return 128 + int(unix.SIGKILL), r.killRest()
			}
		case sig := <-r.signals:
			if number, ok := sig.(syscall.Signal); ok {
				_ = unix.Kill(-agent, number) // an agent that has just ended needs none
			}
		case <-r.children:
			if end, ended, _ := reap(agent); ended {
				return exitCode(end), r.killRest()
			}
		}
	}
}

// reap reaps every process that has ended and has init as its parent, as orphans do. It returns how the agent ended, if
// it was among them, and whether init is alone.
func reap(agent int) (end unix.WaitStatus, ended, alone bool) {
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return end, ended, true
		case pid == 0:
			return end, ended, false
		case pid == agent:
			end, ended = status, true
		}
	}
}

// killRest kills everything that is left in the sandbox, and reports whether init is alone. While the kernel goes
// through the processes, no new one can be born.
func (r *run) killRest() (alone bool) {
	_ = unix.Kill(-1, unix.SIGKILL) // ESRCH: nothing is left
	late := time.After(killed)
	for {
		if _, _, alone := reap(0); alone {
			return true
		}
		select {
		case <-r.children:
		case <-late:
			warn("a process cannot be killed; it is left to the kernel")
			return false
		}
	}
}

func exitCode(end unix.WaitStatus) int {
	if end.Signaled() {
		return 128 + int(end.Signal())
	}
	return end.ExitStatus()
}
