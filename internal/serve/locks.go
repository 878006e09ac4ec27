package serve

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"torno/delegation"
	"torno/internal/lock"
)

// outboxLock keeps other watchers from one outbox. It is two locks: one in the runtime directory, where watchers of one user say
// who they are, and one on the directory's own inode, where all watchers meet. While another process has either, only this
// outbox is not served.
type outboxLock struct {
	take      func() (*lock.Lock, error)
	directory *lock.Directory

	of os.FileInfo // the outbox's directory

	mu   sync.Mutex
	held *lock.Lock // in the runtime directory; nil until it is taken
	kept bool       // the next host of this process gets it
}

// handover are the locks that a host leaves to the next one of the same process. In between no other watcher gets an outbox in
// which children run.
type handover struct{ locks []*outboxLock }

// leave hands over what a host holds, before it closes.
func (o *handover) leave(locks []*outboxLock) {
	for _, l := range locks {
		if l.keep() {
			o.locks = append(o.locks, l)
		}
	}
}

// take is the lock of a directory that was left, or nil.
func (o *handover) take(dir os.FileInfo) *outboxLock {
	if o == nil {
		return nil // no host comes before this one
	}
	i := slices.IndexFunc(o.locks, func(l *outboxLock) bool { return os.SameFile(l.of, dir) })
	if i < 0 {
		return nil
	}
	l := o.locks[i]
	o.locks = slices.Delete(o.locks, i, i+1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = false
	return l
}

// drop releases what the next host had no use for.
func (o *handover) drop() error {
	var errs []error
	for o != nil && len(o.locks) > 0 {
		errs = append(errs, o.take(o.locks[0].of).release())
	}
	return errors.Join(errs...)
}

// lockOutbox takes the lock in the runtime directory where it is free. The other one is taken when the outbox is first looked at.
// A runtime directory in which no lock can be made is the operator's to mend, and ends the start.
func (h *host) lockOutbox(dir *delegation.Dir, who string) error {
	info, err := dir.Info()
	if err != nil {
		return fmt.Errorf("look at the outbox: %w", err)
	}
	if left := h.handed.take(info); left != nil {
		h.later(left.release)
		h.locks = append(h.locks, left)
		return nil
	}
	l := &outboxLock{
		of:   info,
		take: func() (*lock.Lock, error) { return lock.Outbox(dir.Path(), info, who) },
		directory: lock.OfDirectory(dir.Path(), dir.Reopen, func(err error) {
			h.Log.Warn("the file system of the outbox knows no locks of directories: a watcher of another user, or with another runtime "+
				"directory, is not noticed; have one watcher serve it", "outbox", dir.Path(), "runtime", lock.RuntimeDir(), "error", err)
		}),
	}
	h.later(l.release)
	h.locks = append(h.locks, l)
	err = l.holdName()
	if _, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil // the watcher says so, and tries again
	}
	return err
}

// Hold takes what is not held yet.
func (l *outboxLock) Hold() error {
	if err := l.holdName(); err != nil {
		return err
	}
	return l.directory.Hold()
}

func (l *outboxLock) holdName() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held, err = l.take()
	}
	return err
}

// keep leaves the lock to the next host where both of its parts are held.
func (l *outboxLock) keep() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = l.held != nil && l.directory.Hold() == nil
	return l.kept
}

func (l *outboxLock) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept {
		return nil
	}
	err := l.directory.Release()
	if l.held != nil {
		err = errors.Join(err, l.held.Release())
		l.held = nil
	}
	return err
}
