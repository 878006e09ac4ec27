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

// forwarded lists the signals that are meant for the agent.
var forwarded = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
}

// Go's runtime has handlers for nearly all signals, and drops the signals that the program did not ask for. It gives
// the agent the default actions back. These signals are the exceptions.
var (
	// uncaught lists the signals that the runtime leaves as it found them, perhaps ignored. The last three belong to C
	// libraries.
	uncaught = []syscall.Signal{unix.SIGCONT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, 32, 33, 34}
	// fatal lists signals that would end init if the agent sent them to process 1, above all with a made-up cause: Go's
	// runtime takes that for a fault of its own. Init ignores them before there is an agent. Go's runtime gives the
	// agent the default actions back.
	fatal = []syscall.Signal{
		unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS, unix.SIGTRAP,
	}
	// libraries lists such signals of C libraries; the runtime does not give the agent their default actions back. The
	// kernel drops a signal to process 1 that would end it by default, but not while the main thread blocks that
	// signal.
	libraries = []syscall.Signal{32, 33, 34}
)

// These are the kernel's actions that are no handlers.
const (
	byDefault uint64 = 0 // SIG_DFL
	ignore    uint64 = 1 // SIG_IGN
)

// catchSignals must come first of all, because process 1 loses every signal that it has no handler for. One place is
// enough for the signals of ended children: several of them mean the same as one.
func catchSignals() (signals, children <-chan os.Signal) {
	forward, ended := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(forward, forwarded...)
	signal.Notify(ended, unix.SIGCHLD)
	return forward, ended
}

// setActions sets the action of signals, beneath the runtime.
func setActions(signals []syscall.Signal, action uint64) error {
	kernelAction := [8]uint64{action} // struct sigaction begins with the handler; the rest is 0, with room to spare
	const maskSize = 8
	for _, sig := range signals {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&kernelAction)), 0, maskSize, 0, 0)
		if errno != 0 {
			return refuse(runfile.FailureSetup, "signal %d: %w", sig, errno)
		}
	}
	return nil
}

// pending returns a signal that has already come, if any. By default each forwarded signal ends a program, so it counts
// as having ended an agent that does not run yet.
func pending(signals <-chan os.Signal) (unix.Signal, bool) {
	select {
	case sig := <-signals:
		number, ok := sig.(syscall.Signal)
		return number, ok
	default:
		return 0, false
	}
}
