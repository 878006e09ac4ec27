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

	"torno/internal/flock"
)

// Directory is the lock on an outbox's own inode. Watchers of all users and all installations meet at this lock, under
// any path and with any runtime directory. The lock ends with the process, because no other process inherits the
// descriptor.
type Directory struct {
	dir  string
	open func() (*os.File, error)
	say  func(error)
	lock func(*os.File) error // flock.Try, except in tests

	mu   sync.Mutex
	file *os.File // the locked directory; nil while the lock is not held
	none bool     // flock does not work on this file system
}

// OfDirectory returns the lock of a directory, and locks nothing yet. open must open the directory anew, because flock
// binds a lock to one opening and ends it with that opening. If the file system knows no such lock, say is called once;
// the lock in the runtime directory is then the only one.
func OfDirectory(dir string, open func() (*os.File, error), say func(error)) *Directory {
	return &Directory{dir: dir, open: open, say: say, lock: flock.Try}
}

// Lock takes the lock, unless this process holds it already. While another process holds it, the error is a HeldError
// that names that process. Any process that may open the directory can hold the lock. Lock does not wait: the caller
// tries again.
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
	switch err := d.lock(file); {
	case err == nil:
		d.file = file
		return nil
	case errors.Is(err, flock.ErrHeld):
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

// Unlock gives up the lock at once, even if a child that is just being made still has the descriptor.
func (d *Directory) Unlock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		return nil
	}
	err := errors.Join(flock.Unlock(d.file), d.file.Close())
	d.file = nil
	return err
}

// noFlock lists the errors of file systems that know no such lock, or none on a directory (NFS: EBADF).
var noFlock = []unix.Errno{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOSYS, unix.EBADF, unix.EINVAL}

// holders describes the processes that hold a lock of the file, according to the kernel.
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

// Holders returns the processes that hold the lock of an outbox, according to the kernel: usually its watcher. It
// returns nil if there are none, or if it cannot see them.
func Holders(dir string) []int {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	return holding(file)
}

// holderIn returns the process in a line such as "1: FLOCK ADVISORY WRITE 17 fd:01:5678 0 EOF". It returns 0 if the
// line is about another file, or about a process that only waits.
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

// describe names a process. It puts the process's name in quotes, because the process can choose that name.
func describe(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d, %q", pid, strings.TrimSpace(string(name)))
}
