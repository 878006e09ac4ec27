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

// Process is a process that is looked at, by a handle on its directory in /proc.
type Process struct {
	pid int
	dir *os.File
}

// Open takes hold of a process. It may be gone by now: then everything that is asked of it fails.
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

// Pid is the process's number.
func (p *Process) Pid() int { return p.pid }

// Close closes the handle of the process.
func (p *Process) Close() error { return p.dir.Close() }

// maxText bounds what is read of one file of a process. Most have less than usualText; a look reads one for each thread.
const (
	usualText = 4 << 10
	maxText   = 4 << 20
)

// read reads a file of the process's directory.
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

// explain tells a process that may not be looked at apart.
func (p *Process) explain(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &CannotLookError{"/proc/PID/" + name + " of a sandbox's process is closed to it", "it needs the right to trace (CAP_SYS_PTRACE)", err}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("look at process %d, which has ended: %w", p.pid, sandbox.ErrNotHeld)
	}
	return fmt.Errorf("look at process %d: %w", p.pid, &fs.PathError{Op: "open", Path: name, Err: err})
}

// HasEnded says whether the process is dead or dying, though its parent may not have heard of it. The kernel tells little and other things of a
// dead process: under version 1 of control groups it is in none.
func (p *Process) HasEnded() bool {
	_, err := p.status()
	return errors.Is(err, sandbox.ErrNotHeld)
}

// OrEnded is what is wrong with a sandbox, or, where one of the processes has ended that were looked at, that the sandbox does not hold any more:
// then what was seen says nothing of how it was made.
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

// File is what tells one file from another, and one state of it from the next.
type File struct {
	Device, Inode uint64
	Size          int64
	Changed       unix.Timespec
}

// Program is the file that the process executes, opened.
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

// Groups are the process's control groups as the kernel lists them: "controllers" to path, "" for version 2.
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

// Bounds are what the process's control groups bound.
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

// MemoryOf is how much memory the control group of a process has in use; 0 where that is not known.
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

// InGroup says whether one of the process's control groups has an element of that name in its path. A process cannot leave
// its groups.
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

// Children are the processes that have this one for a parent.
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
