package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// start executes the runtime, and returns when it has started the sandbox. We have to wait for the processes that it
// leaves behind.
func (k *keeper) start(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of the processes that the runtime leaves: %w", err)
	}
	pipes, err := newPipes()
	if err != nil {
		return err
	}
	err = k.fork(pipes)
	pipes.closeTheirs()
	for _, d := range k.doors {
		d.theirs.Close()
		if err == nil {
			go d.serve() // until the other end is closed
		}
	}
	if err != nil {
		pipes.closeOurs()
		return fmt.Errorf("start the runtime %s: %w", k.order.Argv[0], err)
	}
	k.stdin = pipes.input
	k.pump(ctx, pipes)
	return k.awaitRuntime()
}

// errAsked says that a watcher asked to end the sandbox before it ran.
var errAsked = errors.New("it was to end before it ran")

// fork starts the runtime in the sandbox's group. It holds the lock, so a call of kill waits until there is a process
// to kill.
func (k *keeper) fork(p pipes) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked {
		return errAsked
	}
	files, free, err := p.handedOver(k.doors)
	if err != nil {
		return err
	}
	defer free()
	attr := &syscall.ProcAttr{Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	run := func(group *os.File) (err error) {
		if group != nil {
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(group.Fd())
		}
		k.child, err = syscall.ForkExec(k.order.Argv[0], k.order.Argv, attr)
		return err
	}
	if k.order.Group == nil {
		return run(nil)
	}
	group, err := k.order.Group.Make()
	if err != nil {
		return err
	}
	return group.Start(run)
}

// roomy is a descriptor number that is high enough to make a process's table of descriptors large enough for 256. If a
// table has to grow while threads share it, the kernel waits until every processor has noticed, 10 ms or more. Without
// roomy, gVisor's kernel and its file server would both have to do this in every start.
const roomy = 200

// handedOver returns the descriptors for the runtime: the streams, the channels of doors, and one descriptor that only
// needs its high number.
func (p pipes) handedOver(doors []*door) (files []uintptr, free func(), err error) {
	nothing, err := unix.Open(os.DevNull, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	files = slices.Repeat([]uintptr{^uintptr(0)}, roomy+1) // ForkExec closes these
	files[0], files[1], files[2], files[roomy] = p.theirIn.Fd(), p.theirOut.Fd(), p.theirErr.Fd(), uintptr(nothing)
	for i, d := range doors {
		files[runfile.FirstDoor+i] = d.theirs.Fd()
	}
	return files, func() { unix.Close(nothing) }, nil
}

// awaitRuntime waits until the runtime has ended, and then reads the sentry's pid.
func (k *keeper) awaitRuntime() error {
	status, err := k.await()
	switch {
	case err != nil:
		return err
	case status.Signaled():
		return fmt.Errorf("the runtime was killed by signal %d", status.Signal())
	case status != 0:
		return fmt.Errorf("the runtime ended with %d", status.ExitStatus())
	}
	sentry, err := k.provenPid()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.child = sentry
	if k.asked {
		return ignore(unix.Kill(sentry, unix.SIGKILL), unix.ESRCH)
	}
	return nil
}

// readPid reads the sentry's pid, as the runtime has written it down.
func readPid(box *os.Root) (int, error) {
	text, err := box.ReadFile(PidName)
	if err != nil {
		return 0, fmt.Errorf("the runtime did not name the process that it started: %w", err)
	}
	text = text[:min(len(text), 32)]
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("the runtime says that it started %q", text)
	}
	return pid, nil
}

// provenPid returns the sentry's pid after it has proven that this process is our child: no other process is ours to
// kill.
func (k *keeper) provenPid() (int, error) {
	pid, err := readPid(k.box)
	if err != nil {
		return 0, err
	}
	if err := waitID(pid, unix.WNOHANG); err != nil {
		return 0, fmt.Errorf("the runtime says that it started process %d, which is not its child: %w", pid, err)
	}
	return pid, nil
}

// await waits for the child and reaps it. From then on no call may kill by its pid, because the pid may be reused.
func (k *keeper) await() (syscall.WaitStatus, error) {
	k.mu.Lock()
	pid := k.child
	k.mu.Unlock()
	if err := waitID(pid, 0); err != nil {
		return 0, fmt.Errorf("wait for process %d: %w", pid, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.child = 0
	return wait(pid)
}

// kill ends the sandbox at once.
func (k *keeper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = true
	if k.child != 0 {
		_ = unix.Kill(k.child, unix.SIGKILL) // the only possible error: it is already dead
	}
}

// endRest kills and reaps the remaining processes of the sandbox. A process that loses its parent becomes our child.
func (k *keeper) endRest() {
	for {
		if k.order.Group != nil {
			_ = k.order.Group.Group().Kill() // tidy removes the group later, and reports errors
		}
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if _, err := wait(-1); err != nil {
			return
		}
	}
}

// children returns the pids of our present children. A process that loses its parent becomes a child of our first
// thread, which lives as long as we do. The processes that we started ourselves are already reaped.
func children() []int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	var pids []int
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
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
func waitID(pid, options int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT|options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
