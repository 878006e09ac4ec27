package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// idle are the system calls with which Go's own scheduler waits, wakes and asks the time. How many there are is up to the machine.
var idle = map[uint64]bool{
	unix.SYS_FUTEX: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_NANOSLEEP: true, unix.SYS_SCHED_YIELD: true, unix.SYS_RESTART_SYSCALL: true,
	unix.SYS_TGKILL: true, unix.SYS_GETPID: true, unix.SYS_RT_SIGRETURN: true, unix.SYS_RT_SIGPROCMASK: true, unix.SYS_SIGALTSTACK: true,
	unix.SYS_GETTID: true, unix.SYS_CLOCK_GETTIME: true, unix.SYS_MADVISE: true, unix.SYS_MMAP: true, unix.SYS_MUNMAP: true,
	unix.SYS_PRCTL: true, unix.SYS_CLONE: true, unix.SYS_EXIT: true, unix.SYS_SCHED_GETAFFINITY: true,
}

// Calls are system calls by their numbers.
type Calls map[uint64]int

// Sum is how many there are in all.
func (c Calls) Sum() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

// asCounter is the environment's word for a process of ours that counts. The counting is another process's, because whoever waits for
// a child in the tracer's own process takes its stops away.
const asCounter = "TORNO_COUNT_CALLS_OF"

// ErrForbidden is returned where this user may not look at another process's calls.
var ErrForbidden = errors.New("this user may not trace a process that is not its child")

// Count counts the system calls that the threads of a process make while a function runs, but those of Go's scheduler. Processes
// that it starts are not followed. TestMain must have called Counter.
func Count(pid int, during func()) (Calls, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	counter := exec.Command(self)
	counter.Env = append(os.Environ(), fmt.Sprint(asCounter, "=", pid))
	counter.Stderr = os.Stderr
	over, err := counter.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := counter.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := counter.Start(); err != nil {
		return nil, err
	}
	said := json.NewDecoder(out)
	var begun bool
	if err := said.Decode(&begun); err != nil || !begun {
		return nil, errors.Join(ErrForbidden, err, counter.Wait())
	}
	during()
	calls := Calls{}
	err = errors.Join(over.Close(), said.Decode(&calls), counter.Wait())
	return calls, err
}

// Counter counts, and ends the process, where Count has started it for that.
func Counter() {
	pid, err := strconv.Atoi(os.Getenv(asCounter))
	if err != nil {
		return
	}
	if err := countCalls(pid); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// countCalls counts until its input ends.
func countCalls(pid int) error {
	runtime.LockOSThread() // a tracee belongs to a thread
	t := tracer{pid: pid, calls: Calls{}}
	out := json.NewEncoder(os.Stdout)
	err := t.seize()
	if err := errors.Join(err, out.Encode(err == nil)); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		t.over.Store(true)
		// The tracer waits in the kernel. Go ignores this signal when it has not sent it itself, and the tracer hears of it first.
		_ = unix.Tgkill(pid, pid, unix.SIGURG)
	}()
	if err := t.follow(); err != nil {
		return err
	}
	return out.Encode(t.calls)
}

// tracer follows the threads of a process.
type tracer struct {
	pid   int
	calls Calls
	over  atomic.Bool
}

// seize takes every thread, and again until there is no new one. Threads that are made later are taken by the kernel.
func (t *tracer) seize() error {
	taken := map[int]bool{}
	for again := true; again; {
		again = false
		threads, err := t.threads()
		if err != nil {
			return err
		}
		for _, thread := range threads {
			if taken[thread] {
				continue
			}
			const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE
			if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(thread), 0, options, 0, 0); e != 0 && e != unix.EPERM {
				return fmt.Errorf("trace thread %d: %w", thread, e) // EPERM: it was made by one that is traced, and is traced
			}
			taken[thread], again = true, true
			if err := unix.PtraceInterrupt(thread); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

func (t *tracer) threads() (threads []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.pid))
	for _, task := range tasks {
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			threads = append(threads, thread)
		}
	}
	return threads, err
}

// follow lets each thread go on from stop to stop. When it is over each is stopped once more and then let go; the end is when this
// process traces none any more.
func (t *tracer) follow() error {
	stopping := false
	for {
		var status unix.WaitStatus
		thread, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.ECHILD) {
			return nil
		}
		if errors.Is(err, unix.EINTR) || err == nil && !status.Stopped() {
			continue
		}
		if err != nil {
			return err
		}
		signal := status.StopSignal()
		if signal == unix.SIGTRAP|0x80 {
			t.note(thread)
		}
		if signal == unix.SIGTRAP|0x80 || int(status)>>16 != 0 {
			signal = 0 // the stop is the tracer's own
		}
		request := unix.PTRACE_SYSCALL
		if t.over.Load() || !t.has(thread) {
			request = unix.PTRACE_DETACH
		}
		if _, _, e := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(thread), 0, uintptr(signal), 0, 0); e != 0 && e != unix.ESRCH {
			return e
		}
		if t.over.Load() && !stopping {
			stopping = true
			if err := t.stopAll(); err != nil {
				return err
			}
		}
	}
}

// has says whether a thread is the process's. The kernel also takes processes of which their parent wants no signal at their end.
func (t *tracer) has(thread int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", t.pid, thread))
	return err == nil
}

// note counts a call at its entry.
func (t *tracer) note(thread int) {
	var info struct {
		op         uint8
		_          [3]uint8
		_          uint32
		_, _, call uint64
		_          [7]uint64
	}
	const entry = 1
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if e == 0 && info.op == entry && !idle[info.call] {
		t.calls[info.call]++
	}
}

// stopAll asks for a stop of each thread. One that is free already, or gone, says so.
func (t *tracer) stopAll() error {
	threads, err := t.threads()
	for _, thread := range threads {
		_ = unix.PtraceInterrupt(thread)
	}
	return err
}
