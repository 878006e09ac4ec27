package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tape is what processes did to the files of one directory, in its order: the system calls that change them, the flushes,
// and the lines that the processes printed. It is taken from outside, with ptrace: the code that runs is the real one.
type tape struct {
	dir    string
	events []event
	names  map[string]int // the directory as it is now; 0 is no file
	files  int            // how many files there were; a file keeps its number whatever name it has
}

// event is one of these. The directory is file 0.
type event struct {
	what string // written, cut, flushed, named, said
	file int    // named: what the name stands for from now on, 0 for nothing
	name string // named: the name; said: the line
	at   int64  // written: where; cut: the length
	data []byte
}

// record runs a command to its end and puts what it did on the tape.
func (p *tape) record(t *testing.T, command *exec.Cmd) {
	t.Helper()
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // only the thread that began to trace may go on; it ends with this goroutine
		ended <- p.trace(command)
	}()
	if err := <-ended; err != nil {
		t.Fatalf("trace %s: %v", command, err)
	}
}

func (p *tape) trace(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := command.Start(); err != nil {
		return err
	}
	pid := command.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if err := unix.PtraceSyscall(pid, 0); err != nil {
		return err
	}
	r := &recorder{tape: p, pid: pid, fds: map[uint64]int{}, calls: map[int]call{}}
	for {
		thread, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != nil {
			return err
		}
		if status.Exited() || status.Signaled() {
			if thread != pid {
				continue
			}
			if status.ExitStatus() != 0 {
				return fmt.Errorf("it ended with %d", status.ExitStatus())
			}
			return command.Process.Release()
		}
		signal := 0
		switch s := status.StopSignal(); s {
		case unix.SIGTRAP | 0x80:
			// A thread may be gone because another one ended the process. isWhole finds a call that is missed.
			if err := r.stopped(thread); err != nil && err != unix.ESRCH {
				return err
			}
		case unix.SIGTRAP, unix.SIGSTOP: // a thread began
		default:
			signal = int(s)
		}
		if err := unix.PtraceSyscall(thread, signal); err != nil && err != unix.ESRCH {
			return err
		}
	}
}

// recorder understands the system calls of one process.
type recorder struct {
	*tape
	pid   int
	fds   map[uint64]int // open files of the directory
	calls map[int]call   // what each thread is in
}

// call is a system call that was entered.
type call struct {
	number   uint64
	args     [6]uint64
	data     []byte // what it writes
	path, to string // what it names, below the directory
}

// callInfo is struct ptrace_syscall_info.
type callInfo struct {
	op    uint8
	_     [3]byte
	_     uint32
	_, _  uint64
	words [7]uint64
}

func (r *recorder) stopped(thread int) error {
	var info callInfo
	const getSyscallInfo, entered, left = 0x420e, 1, 2
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		return e
	}
	switch info.op {
	case entered:
		c := call{number: info.words[0], args: [6]uint64(info.words[1:])}
		r.modern(&c)
		r.enter(&c)
		r.calls[thread] = c
	case left:
		if result := int64(info.words[0]); result >= 0 {
			r.leave(r.calls[thread], result)
		}
	}
	return nil
}

// modern turns calls that only old machines have into those that all have.
func (r *recorder) modern(c *call) {
	if runtime.GOARCH != "amd64" {
		return
	}
	switch a := c.args; c.number {
	case 2:
		c.number, c.args = unix.SYS_OPENAT, [6]uint64{0, a[0], a[1]}
	case 82:
		c.number, c.args = unix.SYS_RENAMEAT, [6]uint64{0, a[0], 0, a[1]}
	case 87:
		c.number, c.args = unix.SYS_UNLINKAT, [6]uint64{0, a[0]}
	}
}

func (r *recorder) enter(c *call) {
	switch c.number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		if _, ours := r.fds[c.args[0]]; ours || c.args[0] == 1 {
			c.data = r.memory(c.args[1], int(c.args[2]))
		}
	case unix.SYS_UNLINKAT:
		c.path = r.text(c.args[1])
	case unix.SYS_RENAMEAT:
		c.path, c.to = r.text(c.args[1]), r.text(c.args[3])
	case unix.SYS_CLOSE:
		delete(r.fds, c.args[0]) // now: another thread may get the same number before this one is back
	}
}

func (r *recorder) leave(c call, result int64) {
	file, ours := r.fds[c.args[0]]
	switch c.number {
	case unix.SYS_OPENAT:
		r.opened(uint64(result), c.args[2])
	case unix.SYS_WRITE:
		if c.args[0] == 1 {
			r.add(event{what: "said", name: strings.TrimSpace(string(c.data))})
		} else if ours { // only a new file is written without saying where
			r.add(event{what: "written", file: file, data: c.data[:result]})
		}
	case unix.SYS_PWRITE64:
		if ours {
			r.add(event{what: "written", file: file, at: int64(c.args[3]), data: c.data[:result]})
		}
	case unix.SYS_FTRUNCATE:
		if ours {
			r.add(event{what: "cut", file: file, at: int64(c.args[1])})
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if ours {
			r.add(event{what: "flushed", file: file})
		}
	case unix.SYS_UNLINKAT:
		r.name(c.path, 0)
	case unix.SYS_RENAMEAT:
		file := r.names[filepath.Base(c.path)]
		if r.lies(c.path) {
			r.name(c.to, file)
			r.name(c.path, 0)
		}
	}
}

func (r *recorder) opened(fd, flags uint64) {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", r.pid, fd))
	if err != nil {
		return
	}
	if path == r.dir {
		r.fds[fd] = 0
		return
	}
	if !r.lies(path) {
		return
	}
	file := r.names[filepath.Base(path)]
	if file == 0 {
		r.files++
		file = r.files
		r.name(path, file)
	} else if flags&unix.O_TRUNC != 0 {
		r.add(event{what: "cut", file: file})
	}
	r.fds[fd] = file
}

// lies says whether a path is of the directory. The log's index is made anew by the first process that opens the journal
// after a power cut, and a lock has no content.
func (r *recorder) lies(path string) bool {
	return filepath.Dir(path) == r.dir && !strings.HasSuffix(path, "-shm") && !strings.HasSuffix(path, ".lock")
}

func (r *recorder) name(path string, file int) {
	if r.lies(path) {
		r.names[filepath.Base(path)] = file
		r.add(event{what: "named", name: filepath.Base(path), file: file})
	}
}

func (p *tape) add(e event) { p.events = append(p.events, e) }

func (r *recorder) memory(at uint64, size int) []byte {
	data := make([]byte, size)
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", r.pid))
	if err == nil {
		defer f.Close()
		_, err = f.ReadAt(data, int64(at))
	}
	if err != nil {
		panic(err) // what it writes must be readable
	}
	return data
}

// text reads up to the first zero.
func (r *recorder) text(at uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", r.pid))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	data := make([]byte, unix.PathMax)
	n, _ := f.ReadAt(data, int64(at)) // the page after it may be missing
	text, _, _ := bytes.Cut(data[:n], []byte{0})
	return string(text)
}

// unit is what a disk writes as a whole, or not at all.
const unit = 512

// disk is what a power cut at some moment may find: what was flushed, and what was done since.
type disk struct {
	files map[int]*image
	names map[string]int
	todo  []change // since the last flush of their file, or of the directory
}

type image struct{ durable []byte }

// change is one unit of a file, its length, or a name. Each reaches the disk or not, whatever the others do.
type change struct{ event }

// play goes on to the disk as it is after an event. Without flushes it is a disk on which nothing is ever certain.
func (d *disk) play(e event) {
	switch e.what {
	case "written":
		for data, at := e.data, e.at; len(data) > 0; {
			n := min(len(data), unit-int(at%unit))
			d.todo = append(d.todo, change{event{what: "written", file: e.file, at: at, data: data[:n]}})
			data, at = data[n:], at+int64(n)
		}
	case "cut", "named":
		d.todo = append(d.todo, change{e})
	case "flushed":
		var left []change
		for _, c := range d.todo {
			switch {
			case c.what == "named" && e.file == 0:
				d.names[c.name] = c.file
			case c.what != "named" && c.file == e.file:
				d.file(e.file).apply(c.event)
			default:
				left = append(left, c)
			}
		}
		d.todo = left
	}
}

func (d *disk) file(n int) *image {
	if d.files[n] == nil {
		d.files[n] = &image{}
	}
	return d.files[n]
}

func (i *image) apply(e event) {
	end := e.at + int64(len(e.data))
	if missing := end - int64(len(i.durable)); missing > 0 {
		i.durable = append(i.durable, make([]byte, missing)...)
	}
	if e.what == "cut" {
		i.durable = i.durable[:e.at:e.at]
	}
	copy(i.durable[e.at:], e.data)
}

// lay writes the files of a cut that keeps some of what was not flushed. extend gives files the length that they would
// have, with zeroes in place of what is missing.
func (d *disk) lay(t *testing.T, dir string, kept func(i int, c change) bool, extend bool) {
	t.Helper()
	files, names := map[int]*image{}, map[string]int{}
	for n, f := range d.files {
		files[n] = &image{bytes.Clone(f.durable)}
	}
	for name, n := range d.names {
		names[name] = n
	}
	lost := map[string]bool{} // what is done to a name is done in its order
	for i, c := range d.todo {
		keep := kept(i, c)
		if c.what == "named" {
			if lost[c.name] = lost[c.name] || !keep; !lost[c.name] {
				names[c.name] = c.file
			}
			continue
		}
		if files[c.file] == nil {
			files[c.file] = &image{}
		}
		if keep {
			files[c.file].apply(c.event)
		} else if extend && c.what == "written" && int64(len(files[c.file].durable)) <= c.at {
			zero := c.event
			zero.data = make([]byte, len(c.data))
			files[c.file].apply(zero)
		}
	}
	for name, n := range names {
		if n == 0 {
			continue
		}
		var content []byte
		if files[n] != nil {
			content = files[n].durable
		}
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		if strings.HasSuffix(name, "-wal") { // the log's index holds anything
			stale := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, 0xa5a5_0001_5a5a_ffff), 4096)
			must(t, os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name, "-wal")+"-shm"), stale, 0o600))
		}
	}
}
