package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exhaust takes each thing in turn, in a process of its own, so that what was taken is given back, and so that a process
// that is killed for it tells how far it came. The last that each hears of is the most memory that the sandbox ever had.
func Exhaust(wanted []Taking, each func(Taking)) {
	for _, w := range wanted {
		out, err := inGroup(exec.Command("/proc/self/exe", "take", w.What, fmt.Sprint(w.Most)))
		w.Got, w.Stop = Progress(string(out))
		if err != nil && w.Stop == "" {
			w.Stop = err.Error()
		}
		each(w)
	}
	each(Taking{What: "memory at its most", Got: peak()})
}

// inGroup runs a command whose processes all go with it, and returns what they printed.
func inGroup(cmd *exec.Cmd) (out []byte, err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	cmd.Stdout, cmd.SysProcAttr = writer, &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(cmd.Start(), writer.Close())
	if err != nil {
		return nil, err
	}
	read := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(reader) // what was read counts
		read <- all
	}()
	err = cmd.Wait()
	if killed := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); killed != nil && !errors.Is(killed, unix.ESRCH) {
		err = errors.Join(err, killed)
	}
	awaitGroup(cmd.Process.Pid)
	return <-read, err
}

// awaitGroup waits until init has reaped what was killed: until then it counts against the next taking. In a place without an
// init the prober is the first process itself, and reaps.
func awaitGroup(group int) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if err := unix.Kill(-group, 0); errors.Is(err, unix.ESRCH) {
			return
		}
		if pid, _ := unix.Wait4(-group, nil, unix.WNOHANG, nil); pid > 0 {
			continue
		}
		<-time.After(time.Millisecond)
	}
}

// Progress reads what Take wrote: numbers, and at last a word.
func Progress(text string) (got int64, stop string) {
	for line := range strings.Lines(text) {
		if _, err := fmt.Sscan(line, &got); err != nil {
			stop = strings.TrimSpace(line)
		}
	}
	return got, stop
}

// Take takes as much of something as there is, up to most, holds it, and writes down how much that is as it goes.
func Take(w io.Writer, what string, most int64) error {
	t, ok := takings()[what]
	if !ok {
		return fmt.Errorf("there is no way to take %q", what)
	}
	for got := int64(0); got < most; {
		n, err := t()
		if err != nil {
			_, err = fmt.Fprintln(w, unix.ErrnoName(errnoOf(err)), err)
			return err
		}
		got += n
		if _, err := fmt.Fprintln(w, got); err != nil {
			return err
		}
	}
	return nil
}

func errnoOf(err error) (errno syscall.Errno) {
	errors.As(err, &errno)
	return errno
}

const mib = 1 << 20

// takings are steps: each takes a little more and says how much.
func takings() map[string]func() (int64, error) {
	return map[string]func() (int64, error){
		"processes":      func() (int64, error) { return 1, fork(false) },
		"zombies":        func() (int64, error) { return 1, fork(true) },
		"threads":        thread,
		"heap":           heap,
		"memfd":          filler(func() (int, error) { return unix.MemfdCreate("fill", unix.MFD_CLOEXEC) }),
		"open files":     func() (int64, error) { return one(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)) },
		"pipe buffers":   pipeBuffer,
		"socket buffers": socketBuffer,
		"inotify":        func() (int64, error) { return one(unix.InotifyInit1(unix.IN_CLOEXEC)) },
		"timers":         timer,
		"signals":        queuedSignal,
		"message queues": messageQueue,
		"/tmp":           fillDir("/tmp"),
		"/home/agent":    fillDir("/home/agent"),
		"/dev/shm":       fillDir("/dev/shm"),
		"files in /tmp":  manyFiles("/tmp"),
		"page cache":     pageCache("/workspace"),
	}
}

func one(_ int, err error) (int64, error) { return 1, err }

// fork makes a process that does nothing, for ever or not even that. It is as bare as it is because the Go runtime, of
// which it is a copy with one thread, must not run in it.
func fork(ends bool) error {
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	if errno != 0 {
		return errno
	}
	for pid == 0 {
		if ends {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	return nil
}

// thread starts a thread that sleeps for ever. When there are no more, the Go runtime ends the process.
func thread() (int64, error) {
	begun := make(chan bool)
	go func() {
		runtime.LockOSThread()
		begun <- true
		_, _ = unix.Ppoll(nil, nil, nil)
	}()
	<-begun
	return 1, nil
}

func heap() (int64, error) {
	memory, err := unix.Mmap(-1, 0, mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	return int64(len(memory)), err
}

// filler writes into a file that is opened once.
func filler(open func() (int, error)) func() (int64, error) {
	fd, zeros := -1, make([]byte, mib/4)
	return func() (n int64, err error) {
		if fd < 0 {
			if fd, err = open(); err != nil {
				return 0, err
			}
		}
		written, err := unix.Write(fd, zeros)
		return int64(written), err
	}
}

// fillDir fills a file system with one file.
func fillDir(dir string) func() (int64, error) {
	return filler(func() (int, error) { return nameless(dir) })
}

// nameless is a file that goes with us.
func nameless(dir string) (int, error) {
	name := filepath.Join(dir, fmt.Sprintf("fill-%d", os.Getpid()))
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Unlink(name)
	}
	return fd, err
}

// manyFiles makes empty files. The next take removes them all.
func manyFiles(dir string) func() (int64, error) {
	number, in := 0, filepath.Join(dir, "many")
	return func() (int64, error) {
		if number == 0 {
			if err := errors.Join(os.RemoveAll(in), os.Mkdir(in, 0o700)); err != nil {
				return 0, err
			}
		}
		number++
		return 1, closed(unix.Open(fmt.Sprintf("%s/%d", in, number), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600))
	}
}

// pageCache writes one file after another on a disk: what it holds of memory the kernel can take back.
func pageCache(dir string) func() (int64, error) {
	return func() (int64, error) {
		fd, err := nameless(dir)
		if err != nil {
			return 0, err
		}
		n, err := unix.Write(fd, make([]byte, mib))
		return int64(n), err
	}
}

// pipeBuffer fills a new pipe, as big as one may be.
func pipeBuffer() (int64, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return 0, err
	}
	_, _ = unix.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, mib) // else it is of the usual size
	n, err := unix.Write(ends[1], make([]byte, mib))
	return int64(n), err
}

func socketBuffer() (int64, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	n, err := unix.Write(pair[0], make([]byte, mib))
	return int64(n), err
}

// timer makes a timer that never expires; the kernel sets a signal aside for it.
func timer() (int64, error) {
	var id int32
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, pointer(&id))
	return 1, orNil(errno)
}

// queuedSignal sends ourselves a signal that is never taken.
func queuedSignal() (int64, error) {
	const realTime = 40
	blocked := unix.Sigset_t{}
	blocked.Val[0] = 1 << (realTime - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, nil); err != nil {
		return 0, err
	}
	info := [128]byte{8: 0xFF, 9: 0xFF, 10: 0xFF, 11: 0xFF} // its code is SI_QUEUE
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), realTime, pointer(&info), 0, 0)
	return 1, orNil(errno)
}

var queues int

func messageQueue() (int64, error) {
	queues++
	name, err := unix.BytePtrFromString(fmt.Sprintf("torno-%d-%d", os.Getpid(), queues))
	if err != nil {
		return 0, err
	}
	_, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, pointer(name), unix.O_CREAT|unix.O_RDWR|unix.O_EXCL, 0o600, 0, 0, 0)
	_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, pointer(name), 0, 0) // it lives on while it is open
	return 1, orNil(errno)
}

func orNil(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// peak is by the sandbox's own reading.
func peak() (peak int64) {
	for _, file := range []string{"/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "/sys/fs/cgroup/memory.peak"} {
		if text, err := os.ReadFile(file); err == nil {
			_ = json.Unmarshal(text, &peak)
		}
	}
	return peak
}
