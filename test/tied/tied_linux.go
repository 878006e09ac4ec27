// Package tied starts programs that end with the test, also where the test is killed.
//
// The kernel's signal for that is about the thread that started the program: where that thread ends, the program is killed,
// although the test goes on. Go ends a thread when a goroutine that is locked to it returns, and much of what is tested here
// does that. So the thread that starts a program stays until the program has ended.
package tied

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start is the command's own Start; Wait stays the caller's.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// It only looks: the caller's Wait still finds the child, or was there before.
		for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return <-started
}
