// Package lock keeps a second watcher away from an outbox or a state directory.
//
// A lock is a file that the watcher locks with flock, so the lock ends with the process, however the process ends. The
// file's content names the watcher that holds the lock, for the error of a second watcher. A state directory has its
// lock inside. An outbox does not, because there the parent could take the lock. The lock of an outbox lies in the
// runtime directory and is named after the outbox's device and inode, so that another path of the same directory does
// not get around it. Watchers of different users do not see each other's runtime directories. So there is a second
// lock, on the outbox's own inode, where all watchers meet (Directory). A parent can take this second lock, but then
// only its own outbox is not served: watchers still start, and serve other outboxes.
package lock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"torno/internal/flock"
)

// HeldError means that another process holds the lock of a directory.
type HeldError struct {
	Dir    string
	Holder string // how the other process describes itself
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another watcher serves %s: %s", e.Dir, e.Holder)
}

// Lock is held until Unlock or the end of the process.
type Lock struct{ file *os.File }

// maxHolder bounds how many bytes of a holder's description are read. It holds a version, a process and a path.
const maxHolder = 8 << 10

// stateName is the lock's name in a state directory.
const stateName = "watcher.lock"

// State locks a state directory, which must exist and be closed to other users. who describes this watcher, for the
// error of a second one.
func State(dir, who string) (*Lock, error) {
	return take(filepath.Join(dir, stateName), dir, who)
}

// In locks a directory, which must exist and be closed to other users, by a file with this name in it.
func In(dir, name, who string) (*Lock, error) {
	return take(filepath.Join(dir, name), dir, who)
}

// Outbox locks an outbox that is open. opened must come from the open directory, because the path may lead elsewhere by
// now.
func Outbox(dir string, opened fs.FileInfo, who string) (*Lock, error) {
	runtime := RuntimeDir()
	if err := ownDirectory(runtime); err != nil {
		return nil, err
	}
	name, err := nameOf(opened)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return take(filepath.Join(runtime, name), dir, who)
}

// RuntimeDir returns the directory for the locks of outboxes. For root it is /run/torno, whatever the environment says,
// so that a service and a shell agree. For others it is $XDG_RUNTIME_DIR/torno, /run/user/UID/torno, or a directory of
// the user's own in the temporary directory.
func RuntimeDir() string {
	uid := os.Geteuid()
	if uid == 0 {
		return "/run/torno"
	}
	given := os.Getenv("XDG_RUNTIME_DIR")
	for _, dir := range []string{given, fmt.Sprintf("/run/user/%d", uid)} {
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			return filepath.Join(dir, "torno")
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("torno-%d", uid))
}

// take locks the file at path. If another watcher removes the file between our opening and our locking, take tries
// again, because a removed file is no lock.
func take(path, dir, who string) (*Lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
		}
		if err := flock.Try(file); err != nil {
			defer file.Close()
			return nil, held(file, dir, err)
		}
		if !isAt(file, path) {
			file.Close()
			continue
		}
		if err := sign(file, who); err != nil {
			file.Close()
			return nil, fmt.Errorf("sign the lock of %s: %w", dir, err)
		}
		return &Lock{file}, nil
	}
}

// IsOf reports whether l is the lock of the state directory that is at this path now.
func (l *Lock) IsOf(dir string) bool { return isAt(l.file, filepath.Join(dir, stateName)) }

func held(file *os.File, dir string, err error) error {
	if !errors.Is(err, flock.ErrHeld) {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	holder, _ := io.ReadAll(io.LimitReader(file, maxHolder))
	return &HeldError{Dir: dir, Holder: cmp.Or(strings.TrimSpace(string(holder)), "a process that is just starting")}
}

// isAt reports whether the open file is still the file at this path.
func isAt(file *os.File, path string) bool {
	have, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(have, there)
}

// Unlock removes the lock file and then unlocks it. In this order, a watcher that has opened the file before sees that
// it is removed.
func (l *Lock) Unlock() error {
	err := os.Remove(l.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.file.Close())
}

func sign(file *os.File, who string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(who+"\n"), 0)
	return err
}

// ownDirectory makes a directory that only this user may change, or refuses an existing one that others may change.
func ownDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the runtime directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the runtime directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the runtime directory %s does not belong to this user alone; make this user its owner, with mode 0700", dir)
	}
	return nil
}

func nameOf(info fs.FileInfo) (string, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("the system gives no inode")
	}
	return fmt.Sprintf("%x-%x.lock", stat.Dev, stat.Ino), nil
}
