package tied

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The first thread never ends, so no test runs on it.
func init() { runtime.LockOSThread() }

// TestAProgramOutlivesAThread starts a program on a thread that ends. Without Start the kernel kills the program with it.
func TestAProgramOutlivesAThread(t *testing.T) {
	for name, c := range map[string]struct {
		start func(*exec.Cmd) error
		ends  syscall.Signal
	}{
		"tied": {Start, syscall.SIGTERM},
		"to the thread": {func(cmd *exec.Cmd) error {
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return cmd.Start()
		}, syscall.SIGKILL},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sleep", "1000000")
			thread := make(chan int, 1)
			over := make(chan error)
			go func() {
				defer func() { close(over) }()
				runtime.LockOSThread() // never unlocked: the thread ends
				thread <- unix.Gettid()
				over <- c.start(cmd)
			}()
			if err := <-over; err != nil {
				t.Fatal(err)
			}
			<-over
			for tid := <-thread; unix.Tgkill(unix.Getpid(), tid, 0) == nil; {
				runtime.Gosched()
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
			if by := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); by != c.ends {
				t.Errorf("it was ended by %v, and not by %v", by, c.ends)
			}
		})
	}
}
