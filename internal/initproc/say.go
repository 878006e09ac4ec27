//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

// failure is an error with the code that init tells the host.
type failure struct {
	why runfile.Failure
	err error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func refuse(why runfile.Failure, format string, args ...any) error {
	return &failure{why, fmt.Errorf(format, args...)}
}

// sayFailed writes init's last line, if the agent was not started. It returns the exit code.
func sayFailed(err error) int {
	why := runfile.FailureSetup
	var f *failure
	if errors.As(err, &f) {
		why = f.why
	}
	_ = pipes.WriteAll(unix.Stderr, runfile.FailedLine(why, err.Error())) // if this cannot be written, the exit code says the same
	return runfile.FailedExit
}

// warn writes a line to the agent's standard error, so that the parent sees it. It proves nothing to the host.
func warn(format string, args ...any) {
	_ = pipes.WriteAll(unix.Stderr, fmt.Appendf(nil, "torno-init: "+format+"\n", args...)) // a warning is not worth a failure
}

// markTime is how long a stream that nobody reads may delay init's end.
const markTime = 2 * time.Second

// sayEnd marks the end of both streams. No process is left that could write after it. A mark is whole or missing,
// because the kernel takes so few bytes into a pipe at once. If a stream is full and nobody reads it, only the exit
// code tells the end.
func sayEnd(token string, end runfile.End) {
	mark := runfile.EndMark(token, end)
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if unix.SetNonblock(fd, true) != nil {
			return
		}
		if n, err := unix.Write(fd, mark); n == len(mark) && err == nil {
			continue
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if n, err := unix.Poll(poll, int(markTime.Milliseconds())); n <= 0 || err != nil {
			return
		}
		if n, err := unix.Write(fd, mark); n != len(mark) || err != nil {
			return
		}
	}
}
