//go:build linux

package initproc

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// forwarded are the signals that are meant for the agent.
var forwarded = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
}

// Go's runtime has handlers for nearly all signals, which drop the signals that the program did not ask for. It gives the
// agent the default actions back. These signals are the exceptions.
var (
	// uncaught are those that the runtime leaves as it found them, perhaps ignored. The last three belong to C libraries.
	uncaught = []syscall.Signal{unix.SIGCONT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, 32, 33, 34}
	// fatal would end init if the agent sent them to process 1, above all with a made-up cause, which Go's runtime takes for
	// a fault of its own. They are ignored before there is an agent, to which Go's runtime gives the default actions back.
	fatal = []syscall.Signal{
		unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS, unix.SIGTRAP,
	}
	// libraries are the same of C libraries, which the runtime does not give back. The kernel drops a signal to process 1
	// that would end it by default, but not in the moments in which the main thread blocks it.
	libraries = []syscall.Signal{32, 33, 34}
)

// The kernel's actions that are no handlers.
const (
	byDefault uint64 = 0 // SIG_DFL
	ignore    uint64 = 1 // SIG_IGN
)

// catchSignals comes first of all: process 1 loses every signal that it has no handler for. Those of children that ended
// are as good as one, so that one place is enough for them.
func catchSignals() (signals, children <-chan os.Signal) {
	forward, ended := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(forward, forwarded...)
	signal.Notify(ended, unix.SIGCHLD)
	return forward, ended
}

// setActions sets what a signal does, beneath the runtime.
func setActions(signals []syscall.Signal, action uint64) error {
	kernelAction := [8]uint64{action} // struct sigaction begins with the handler; the rest of it is 0, with room to spare
	const maskSize = 8
	for _, sig := range signals {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&kernelAction)), 0, maskSize, 0, 0)
		if errno != 0 {
			return refuse(runfile.FailureSetup, "signal %d: %w", sig, errno)
		}
	}
	return nil
}

// pending returns a signal that has come already, if any. By default each forwarded signal ends a program, so an agent that
// does not run yet counts as ended by it.
func pending(signals <-chan os.Signal) (unix.Signal, bool) {
	select {
	case sig := <-signals:
		number, ok := sig.(syscall.Signal)
		return number, ok
	default:
		return 0, false
	}
}
