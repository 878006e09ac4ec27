// Package lock keeps a second watcher away from an outbox or a state directory.
//
// A lock is a file in the runtime directory that is named after the device and inode of the directory it stands for,
// and is held with flock: it goes with the process, however that ends. It is never in an outbox, where the parent could
// hold it. Its content says who holds it, for the error of the other one.
package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrHeld says that another process holds the lock.
var ErrHeld = errors.New("another watcher serves this directory")

// Lock is held until Release or the end of the process.
type Lock struct{ file *os.File }

// RuntimeDir is where locks live: $XDG_RUNTIME_DIR/torno, or /run/torno for root, or a directory of the user's own in
// the temporary directory.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "torno")
	}
	if os.Geteuid() == 0 {
		return "/run/torno"
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("torno-%d", os.Geteuid()))
}

// Directory locks dir. who is shown to whoever comes second.
func Directory(dir, who string) (*Lock, error) {
	runtime := RuntimeDir()
	if err := ownDirectory(runtime); err != nil {
		return nil, err
	}
	name, err := nameOf(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(runtime, name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		holder, _ := io.ReadAll(io.LimitReader(file, 256))
		return nil, fmt.Errorf("%w: %s is held by %s", ErrHeld, dir, strings.TrimSpace(string(holder)))
	}
	if err := sign(file, who); err != nil {
		file.Close()
		return nil, fmt.Errorf("sign the lock of %s: %w", dir, err)
	}
	return &Lock{file}, nil
}

// Release lets the lock go. Its file stays: removing it would race with whoever waits for it.
func (l *Lock) Release() error { return l.file.Close() }

func sign(file *os.File, who string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(who+"\n"), 0)
	return err
}

// ownDirectory makes a directory that only this user may change, or refuses the one that is there.
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
		return fmt.Errorf("the runtime directory %s is not ours alone; remove it or set XDG_RUNTIME_DIR", dir)
	}
	return nil
}

func nameOf(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", dir, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("look at %s: the system tells no inode", dir)
	}
	return fmt.Sprintf("%x-%x.lock", stat.Dev, stat.Ino), nil
}
