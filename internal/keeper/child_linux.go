package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// start executes the runtime, and returns when it has started the sandbox. What it leaves behind is ours to wait for.
func (k *keeper) start(ctx context.Context) (*sync.WaitGroup, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of what the runtime leaves: %w", err)
	}
	pipes, err := newPipes(k.order.Stdin)
	if err != nil {
		return nil, err
	}
	k.stdin = pipes.input
	pid, err := k.fork(pipes)
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, fmt.Errorf("start the runtime %s: %w", k.order.Argv[0], err)
	}
	pumped := k.pump(ctx, pipes)
	if err := k.awaitRuntime(pid); err != nil {
		k.killAll()
		reapAll()
		pumped.Wait()
		return nil, err
	}
	return pumped, nil
}

// pipes are the agent's standard streams: our ends, and those of the runtime.
type pipes struct {
	input, output, errors       *os.File
	theirIn, theirOut, theirErr *os.File
}

func newPipes(stdin bool) (p pipes, err error) {
	if p.theirIn, err = os.Open(os.DevNull); err == nil && stdin {
		p.theirIn.Close()
		p.theirIn, p.input, err = os.Pipe()
	}
	if err == nil {
		p.output, p.theirOut, err = os.Pipe()
	}
	if err == nil {
		p.errors, p.theirErr, err = os.Pipe()
	}
	return p, err
}

func (p pipes) closeTheirs() { closeFiles(p.theirIn, p.theirOut, p.theirErr) }
func (p pipes) closeOurs()   { closeFiles(p.input, p.output, p.errors) }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// fork starts the runtime in the sandbox's group.
func (k *keeper) fork(p pipes) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Files: []uintptr{p.theirIn.Fd(), p.theirOut.Fd(), p.theirErr.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	run := func(group *os.File) error {
		if group != nil {
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(group.Fd())
		}
		pid, err = syscall.ForkExec(k.order.Argv[0], k.order.Argv, attr)
		return err
	}
	if k.order.Group == nil {
		return pid, run(nil)
	}
	group, err := k.order.Group.Make()
	if err != nil {
		return 0, err
	}
	return pid, group.Start(run)
}

// awaitRuntime waits for the runtime's own end, and learns who the sentry is.
func (k *keeper) awaitRuntime(pid int) error {
	status, err := wait(pid)
	if err != nil {
		return err
	}
	if status != 0 {
		return fmt.Errorf("the runtime ended with %d", status.ExitStatus())
	}
	text, err := k.box.ReadFile(PidName)
	if err != nil {
		return fmt.Errorf("the runtime did not say what it started: %w", err)
	}
	sentry, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || sentry <= 1 {
		return fmt.Errorf("the runtime says that it started %q", text)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sentry = sentry
	if k.asked {
		return ignore(unix.Kill(sentry, unix.SIGKILL), unix.ESRCH)
	}
	return nil
}

// awaitSentry waits for the process that all of the sandbox's live in.
func (k *keeper) awaitSentry() syscall.WaitStatus {
	k.mu.Lock()
	pid := k.sentry
	k.mu.Unlock()
	if err := waitID(pid); err != nil {
		return syscall.WaitStatus(unix.SIGKILL)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sentry = 0 // from here on its number may be another's
	status, err := wait(pid)
	if err != nil {
		return syscall.WaitStatus(unix.SIGKILL)
	}
	return status
}

// kill ends the sandbox at once.
func (k *keeper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = true
	if k.sentry != 0 {
		_ = unix.Kill(k.sentry, unix.SIGKILL) // only that it is dead already can be wrong
	}
}

// killAll kills what a runtime that failed has left.
func (k *keeper) killAll() {
	if k.order.Group != nil {
		_ = k.order.Group.Group().Kill() // the group is removed later, which says what is wrong
	}
	for _, pid := range children() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// children are the processes that have us for a parent now.
func children() []int {
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pump brings the agent's output into the log. A log that cannot be written loses output, and says so by its offsets.
func (k *keeper) pump(ctx context.Context, p pipes) *sync.WaitGroup {
	var pumping sync.WaitGroup
	for kind, pipe := range map[Kind]*os.File{Stdout: p.output, Stderr: p.errors} {
		pumping.Go(func() {
			defer pipe.Close()
			buffer := make([]byte, maxFrame)
			for {
				n, err := pipe.Read(buffer)
				if n > 0 {
					_ = k.record.add(ctx, kind, buffer[:n])
				}
				if err != nil {
					return
				}
			}
		})
	}
	return &pumping
}

// input writes to the agent. One that does not read holds up whoever writes.
func (k *keeper) input(data []byte) error {
	if k.stdin == nil {
		return io.ErrClosedPipe
	}
	_, err := k.stdin.Write(data)
	return err
}

func (k *keeper) shutInput() {
	if k.stdin != nil {
		k.stdin.Close()
	}
}

// wait reaps one child.
func wait(pid int) (status syscall.WaitStatus, err error) {
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status, err
		}
	}
}

// waitID waits for a child's end without reaping it.
func waitID(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// reapAll waits for every process that is left.
func reapAll() {
	for {
		if _, err := wait(-1); err != nil {
			return
		}
	}
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
