package lock

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Directory is the lock on an outbox's own inode. Watchers of all users and all installations meet there, under any path and
// with any runtime directory. It ends with the process: no other process inherits the descriptor.
type Directory struct {
	dir  string
	open func() (*os.File, error)
	say  func(error)
	lock func(file *os.File, how int) error // as flock does

	mu   sync.Mutex
	file *os.File // while it is held
	none bool     // flock does not work there
}

// OfDirectory locks nothing yet. open opens the directory anew: a lock belongs to what was opened, and so does its end.
// say is called once where the file system knows no such lock; the lock in the runtime directory is all that there is then.
func OfDirectory(dir string, open func() (*os.File, error), say func(error)) *Directory {
	return &Directory{dir: dir, open: open, say: say, lock: flock}
}

// Lock takes the lock, unless this process holds it already. While another process holds it, the error is a HeldError that
// names that process. Any process that may open the directory can hold the lock. Lock does not wait: the caller tries again.
func (d *Directory) Lock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != nil || d.none {
		return nil
	}
	file, err := d.open()
	if err != nil {
		return fmt.Errorf("open %s to lock it: %w", d.dir, err)
	}
	switch err := d.lock(file, unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		d.file = file
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		held := &HeldError{Dir: d.dir, Holder: holders(file)}
		return errors.Join(held, file.Close())
	case slices.ContainsFunc(noFlock, func(e unix.Errno) bool { return errors.Is(err, e) }):
		d.none = true
		d.say(err)
		return file.Close()
	default:
		return errors.Join(fmt.Errorf("lock %s: %w", d.dir, err), file.Close())
	}
}

// Unlock lets the lock go at once, also where a child that is just being made has the descriptor still.
func (d *Directory) Unlock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		return nil
	}
	err := errors.Join(d.lock(d.file, unix.LOCK_UN), d.file.Close())
	d.file = nil
	return err
}

// noFlock is how file systems say that they know no such lock, or none on a directory (NFS: EBADF).
var noFlock = []unix.Errno{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOSYS, unix.EBADF, unix.EINVAL}

func flock(file *os.File, how int) error {
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(file.Fd()), how)
	}
	return err
}

// holders are the processes that hold a lock of the file, as the kernel tells.
func holders(file *os.File) string {
	var all []string
	for _, pid := range holding(file) {
		all = append(all, describe(pid))
	}
	if len(all) == 0 {
		return "a process that /proc/locks does not name"
	}
	return strings.Join(all, ", ")
}

func holding(file *os.File) (all []int) {
	var stat unix.Stat_t
	if unix.Fstat(int(file.Fd()), &stat) != nil {
		return nil
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
	for line := range bytes.Lines(table) {
		if pid := holderIn(string(line), inode); pid > 0 {
			all = append(all, pid)
		}
	}
	return all
}

// Holders are the processes that hold the lock of an outbox, as the kernel tells: its watcher. None is nil, also where this cannot be seen.
func Holders(dir string) []int {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	return holding(file)
}

// holderIn is the process of a line such as "1: FLOCK  ADVISORY  WRITE 17 fd:01:5678 0 EOF", 0 where it is of another file
// or only waits.
func holderIn(line, inode string) int {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != inode {
		return 0
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil {
		return 0
	}
	return pid
}

// describe names a process. What it calls itself is its own word, so it is quoted.
func describe(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d, %q", pid, strings.TrimSpace(string(name)))
}
