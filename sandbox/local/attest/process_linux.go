package attest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/cgroups"
	"torno/sandbox"
)

// Process is a process under inspection, through a handle on its directory in /proc.
type Process struct {
	pid int
	dir *os.File
}

// Open opens a handle on a process. If the process has ended by then, every later call on the handle fails.
func Open(pid int) (*Process, error) {
	dir, err := os.OpenFile("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CannotLookError{"it sees none of a sandbox's processes", "it needs the host's process ids", fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return &Process{pid: pid, dir: dir}, nil
}

// Pid returns the process's number.
func (p *Process) Pid() int { return p.pid }

// Close closes the handle of the process.
func (p *Process) Close() error { return p.dir.Close() }

// maxText bounds how much is read of one file of a process. Most files have less than usualText; a look reads one file
// for each thread.
const (
	usualText = 4 << 10
	maxText   = 4 << 20
)

// read reads a file in the process's directory.
func (p *Process) read(name string) ([]byte, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, p.explain(name, err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, usualText)
	for len(text) < maxText {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, p.explain(name, err)
		case n == 0:
			return text, nil
		}
		if text = text[:len(text)+n]; len(text) == cap(text) {
			text = slices.Grow(text, len(text))
		}
	}
	return text[:maxText], nil
}

// explain turns an error into a CannotLookError if the process may not be looked at, or into ErrNotHeld if it has
// ended.
func (p *Process) explain(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &CannotLookError{"/proc/PID/" + name + " of a sandbox's process is closed to it", "it needs the right to trace (CAP_SYS_PTRACE)", err}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("look at process %d, which has ended: %w", p.pid, sandbox.ErrNotHeld)
	}
	return fmt.Errorf("look at process %d: %w", p.pid, &fs.PathError{Op: "open", Path: name, Err: err})
}

// HasEnded reports whether the process is dead or dying, even if its parent does not know it yet. For a dead process
// the kernel shows little, and partly something else: under version 1 of control groups, for example, it shows no
// groups from the moment at which the process begins to exit.
func (p *Process) HasEnded() bool {
	if _, err := p.status(); errors.Is(err, sandbox.ErrNotHeld) {
		return true
	}
	stat, err := p.read("stat")
	return errors.Is(err, sandbox.ErrNotHeld) || err == nil && isExiting(stat)
}

// isExiting reads from the text of /proc/<pid>/stat whether the kernel has begun to end a process. Between that and the
// zombie the status says that the process runs.
func isExiting(stat []byte) bool {
	const place, exiting = 6, 4 // of the flags, counted after the name, which the process chooses; and PF_EXITING
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= place {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[place]), 10, 64)
	return err == nil && flags&exiting != 0
}

// OrEnded returns err, unless one of the inspected processes has ended. Then it returns ErrNotHeld, because
// observations of a process that has ended say nothing about how the sandbox was made.
func OrEnded(err error, seen ...*Process) error {
	if err == nil || errors.Is(err, sandbox.ErrNotHeld) {
		return err
	}
	for _, p := range seen {
		if p.HasEnded() {
			return fmt.Errorf("look at process %d, which has ended: %w", p.pid, sandbox.ErrNotHeld)
		}
	}
	return err
}

// File identifies a file, and one state of it.
type File struct {
	Device, Inode uint64
	Size          int64
	Changed       unix.Timespec
}

// Program returns the file that the process executes, opened.
func (p *Process) Program() (File, *os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), "exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return File{}, nil, p.explain("exe", err)
	}
	program := os.NewFile(uintptr(fd), "exe")
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		program.Close()
		return File{}, nil, p.explain("exe", err)
	}
	return File{Device: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Changed: st.Ctim}, program, nil
}

// Groups returns the process's control groups as the kernel lists them: "controllers" to path, "" for version 2.
func (p *Process) Groups() (map[string]string, error) {
	text, err := p.read("cgroup")
	if err != nil {
		return nil, err
	}
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("look at process %d: its control groups are %q", p.pid, text)
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			groups[controller] = parts[2]
		}
	}
	return groups, nil
}

// Bounds returns the bounds of the process's control groups.
func (p *Process) Bounds() (cgroups.Bounds, error) {
	groups, err := p.Groups()
	if err != nil {
		return cgroups.Bounds{}, err
	}
	bounds, err := cgroups.ReadBounds(groups)
	if errors.Is(err, fs.ErrNotExist) {
		return cgroups.Bounds{}, &CannotLookError{"the sandbox's control group is not to be seen", "it needs the host's control groups", err}
	}
	return bounds, err
}

// MemoryOf returns how much memory the control group of a process has in use, or 0 if that is not known.
func MemoryOf(pid int) int64 {
	p, err := Open(pid)
	if err != nil {
		return 0
	}
	defer p.Close()
	bounds, err := p.Bounds()
	if err != nil {
		return 0
	}
	return bounds.Used
}

// InGroup reports whether one of the process's control groups has a path with an element that is accepts. A process
// cannot leave its groups.
func (p *Process) InGroup(is func(element string) bool) (bool, error) {
	groups, err := p.Groups()
	if err != nil {
		return false, err
	}
	for _, path := range groups {
		if slices.ContainsFunc(strings.Split(path, "/"), is) {
			return true, nil
		}
	}
	return false, nil
}

// Children returns the pids of the process's children.
func (p *Process) Children() ([]int, error) {
	text, err := p.read(filepath.Join("task", strconv.Itoa(p.pid), "children"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range bytes.FieldsSeq(text) {
		pid, err := strconv.Atoi(string(field))
		if err != nil {
			return nil, fmt.Errorf("look at process %d: its children are %q", p.pid, text)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
