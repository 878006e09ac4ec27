//go:build linux

package adapter

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const readSize = 64 << 10

// child is the agent's process.
type child struct {
	output int                  // its standard output; reading does not block
	closed bool                 // it has closed its output, but goes on
	ended  int                  // becomes readable when it has ended
	over   atomic.Bool          // the same, readable without waiting
	end    chan unix.WaitStatus // gets its exit status when it has ended
}

// start starts the agent.
func (r *run) start(start Start) (*child, *Cannot) {
	var input, output, ended [2]int
	for _, pipe := range []*[2]int{&input, &output, &ended} {
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return nil, &Cannot{codeFailed, "a pipe: " + err.Error()}
		}
	}
	for _, ours := range []int{input[1], output[0]} {
		if err := unix.SetNonblock(ours, true); err != nil {
			return nil, &Cannot{codeFailed, "a pipe: " + err.Error()}
		}
	}
	args := r.args()
	if r.ask != "" && r.kind.server == nil {
		args = askArgs(args)
	}
	argv := slices.Concat(r.argv, args)
	pid, cannot := start(argv, withDefaults(os.Environ(), r.kind.env), input[0], output[1])
	if cannot != nil {
		return nil, cannot
	}
	r.pass(pid)
	unix.Close(input[0])
	unix.Close(output[1])
	r.task = os.NewFile(uintptr(input[1]), "task")
	c := &child{output: output[0], ended: ended[0], end: make(chan unix.WaitStatus, 1)}
	go c.wait(pid, ended[1])
	return c, nil
}

// withDefaults adds the defaults that the environment does not set.
func withDefaults(env, defaults []string) []string {
	for _, entry := range defaults {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, entry)
		}
	}
	return env
}

// pass sends the agent the signals that came to the process group before the agent was in it.
func (r *run) pass(pid int) {
	for sig, came := r.signal(); came; sig, came = r.signal() {
		_ = unix.Kill(pid, sig) // an agent that has just ended needs none
	}
}

func (c *child) wait(pid, ended int) {
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.end <- status
	c.over.Store(true)
	unix.Close(ended)
}

// follow reads the agent's output until the agent has ended, and then the rest of that output.
func (r *run) follow(c *child) {
	lines := splitter{most: maxLine, whole: r.take, tooLong: r.tooLong}
	defer lines.end()
	buf := make([]byte, readSize)
	begun, over, left := time.Now(), false, 1
	for left > 0 {
		r.look()
		n, err := unix.Read(c.output, buf)
		switch {
		case n > 0:
			r.quiet = false
			lines.add(buf[:n])
			if over {
				left -= n
			} else if over = c.over.Load(); over {
				left = c.left()
			}
		case errors.Is(err, unix.EAGAIN) && !over:
			if over = r.wait(c, begun); over {
				left = c.left()
			}
		case n == 0 && err == nil && !over && r.beside != nil: // its files say more
			c.closed = true
			over = r.wait(c, begun)
		case !errors.Is(err, unix.EINTR):
			return
		}
	}
}

// mostInPipe is the most that Linux lets a pipe hold, unless root has changed the limit.
const mostInPipe = 1 << 20

// left returns how many bytes wait in the pipe after the agent's end. The adapter reads no more than that, because a
// process that the agent left behind can print for ever.
func (c *child) left() int {
	n, err := unix.IoctlGetInt(c.output, unix.TIOCINQ)
	if err != nil {
		return mostInPipe
	}
	return n
}

// wait waits for output, for input, or until it is time to look at the agent's files. It reports whether the agent has
// ended.
func (r *run) wait(c *child, begun time.Time) bool {
	timeout := time.Duration(-1)
	if r.quiet {
		timeout = max(0, r.patience-time.Since(begun))
	}
	if r.beside != nil && (timeout < 0 || timeout > lookEvery) {
		timeout = lookEvery
	}
	fds := []unix.PollFd{{Fd: int32(c.output), Events: unix.POLLIN}, {Fd: int32(c.ended), Events: unix.POLLIN}}
	if c.closed {
		fds[0].Fd = -1 // poll ignores it
	}
	if !r.ear.ended {
		fds = append(fds, unix.PollFd{Fd: int32(unix.Stdin), Events: unix.POLLIN})
	}
	n, err := unix.Poll(fds, milliseconds(timeout))
	if n > 0 && !r.ear.ended && fds[2].Revents != 0 {
		r.listen()
	}
	if n == 0 && err == nil && r.quiet && time.Since(begun) >= r.patience {
		r.quiet = false // report it only once
		r.tellQuiet()
	}
	return n > 0 && fds[1].Revents != 0
}

// milliseconds converts a timeout. It rounds up, so that the timeout has passed when the milliseconds have; -1 means no
// timeout.
func milliseconds(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return int((d + time.Millisecond - 1) / time.Millisecond)
}

// look follows the agent's files, if it has any.
func (r *run) look() {
	if r.beside != nil && r.beside.look(time.Now()) {
		r.quiet = false
	}
}
