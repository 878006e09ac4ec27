package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/lock"
	"torno/internal/retry"
)

// outboxLock keeps other watchers from one outbox. It consists of two locks. The first lies in the runtime directory,
// and its content names its watcher. The second is on the outbox's own inode, where watchers of all users meet. While
// another process has either lock, only this outbox is not served.
type outboxLock struct {
	take      func() (*lock.Lock, error)
	directory *lock.Directory

	of os.FileInfo // the outbox's directory

	others atomic.Bool // another watcher had one of the locks when we last tried to take them

	mu   sync.Mutex
	held *lock.Lock // in the runtime directory; nil until it is taken
	kept bool       // the next host of this process gets it
}

// stateLock keeps other watchers, and a purge, from the state directory.
type stateLock struct {
	dir  string
	held *lock.Lock
	kept bool // the next host of this process gets it
}

// lockState takes the lock of the state directory, or takes it over from an earlier host of this process.
func (h *host) lockState(ctx context.Context, who string) error {
	l := h.handed.takeState(h.Config.State)
	if l == nil {
		take := func() (*lock.Lock, error) { return lock.State(h.Config.State, who) }
		held, err := acquireLock(ctx, take)
		if other, ok := errors.AsType[*lock.HeldError](err); ok && h.MakeOutbox && h.Wait {
			h.Log.Info("another watcher serves the outbox; waiting until it ends", "outbox", h.Config.Outboxes[0].Dir, "holder", other.Holder)
			held, err = patiently(ctx, take)
		}
		if err != nil {
			return err
		}
		l = &stateLock{dir: h.Config.State, held: held}
	}
	h.later(l.release)
	h.state = l
	return nil
}

// maxLockTries bounds how often acquireLock tries a lock that another process holds. If a watcher is killed while it
// executes a program, the process that was to become that program holds the lock for a moment longer.
const maxLockTries = 25

// acquireLock takes a lock. If another process holds it, that process may be about to end, so acquireLock tries again.
func acquireLock(ctx context.Context, take func() (*lock.Lock, error)) (held *lock.Lock, err error) {
	for try := 1; ; try++ {
		held, err = take()
		if _, other := errors.AsType[*lock.HeldError](err); !other || try == maxLockTries || retry.Pause(ctx, retry.Later) != nil {
			return held, err
		}
	}
}

// freeEvery is how often patiently looks whether a lock is free.
const freeEvery = 200 * time.Millisecond

// patiently takes a lock as soon as the process that holds it ends. It gives up when ctx is done.
func patiently(ctx context.Context, take func() (*lock.Lock, error)) (held *lock.Lock, err error) {
	for {
		if err := retry.Pause(ctx, freeEvery); err != nil {
			return nil, err
		}
		held, err = take()
		if _, other := errors.AsType[*lock.HeldError](err); !other {
			return held, err
		}
	}
}

func (l *stateLock) release() error {
	if l.kept {
		return nil
	}
	return l.held.Unlock()
}

// handover holds the locks that a host leaves to the next host of the same process. So in between no other watcher can
// get an outbox in which children run, or the state directory that has their runs. Nor can anybody purge that
// directory.
type handover struct {
	state *stateLock
	locks []*outboxLock
}

// takeFrom takes the locks from a host, before it closes.
func (o *handover) takeFrom(h *host) {
	if h.state != nil {
		h.state.kept, o.state = true, h.state
	}
	for _, l := range h.locks {
		if l.keep() {
			o.locks = append(o.locks, l)
		}
	}
}

// takeState returns the lock of a state directory that was left, or nil. If the directory was replaced, the lock is not
// its lock.
func (o *handover) takeState(dir string) *stateLock {
	if o == nil || o.state == nil || o.state.dir != dir || !o.state.held.IsOf(dir) {
		return nil
	}
	l := o.state
	l.kept, o.state = false, nil
	return l
}

// take returns the lock that was left for this directory, or nil.
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

// drop releases the locks that the next host has not taken.
func (o *handover) drop() error {
	var errs []error
	if o != nil && o.state != nil {
		errs = append(errs, o.state.held.Unlock())
		o.state = nil
	}
	for o != nil && len(o.locks) > 0 {
		errs = append(errs, o.take(o.locks[0].of).release())
	}
	return errors.Join(errs...)
}

// checkIsFree fails if another watcher serves the only outbox of a trial on a workstation: the person who started the
// trial would see nothing served. It comes before the lock of the state directory. Both watchers share that directory,
// but the error has to name the outbox.
func (h *host) checkIsFree(ctx context.Context, who string) error {
	if !h.MakeOutbox || h.Wait || h.handed.state != nil {
		return nil
	}
	for _, dir := range h.dirs {
		l, err := h.lockOf(dir, who)
		if err != nil {
			return err
		}
		_, err = acquireLock(ctx, func() (*lock.Lock, error) { return nil, l.lock() })
		if err := errors.Join(err, l.release()); err != nil {
			return err
		}
	}
	return nil
}

// lockOutbox takes the outbox's lock in the runtime directory, if it is free. The other lock is taken when the watcher
// first looks at the outbox. If no lock can be made in the runtime directory, the operator must mend that, and the
// start ends.
func (h *host) lockOutbox(dir *delegation.Dir, who string) error {
	l, err := h.lockOf(dir, who)
	if err != nil {
		return err
	}
	if left := h.handed.take(l.of); left != nil {
		h.later(left.release)
		h.locks = append(h.locks, left)
		return nil
	}
	h.later(l.release)
	h.locks = append(h.locks, l)
	err = l.holdName()
	if _, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil // the watcher says so, and tries again
	}
	return err
}

// lockOf returns the lock of an outbox, which is not taken yet.
func (h *host) lockOf(dir *delegation.Dir, who string) (*outboxLock, error) {
	info, err := dir.Info()
	if err != nil {
		return nil, fmt.Errorf("look at the outbox: %w", err)
	}
	return &outboxLock{
		of:   info,
		take: func() (*lock.Lock, error) { return lock.Outbox(dir.Path(), info, who) },
		directory: lock.OfDirectory(dir.Path(), dir.Reopen, func(err error) {
			h.Log.Warn("the file system of the outbox has no locks for directories: this watcher does not notice a watcher of another user, or with another runtime "+
				"directory; let only one watcher serve the outbox", "outbox", dir.Path(), "runtime", lock.RuntimeDir(), "error", err)
		}),
	}, nil
}

// lock takes each of the two locks that is not held yet.
func (l *outboxLock) lock() error {
	err := l.holdName()
	if err == nil {
		err = l.directory.Lock()
	}
	_, other := errors.AsType[*lock.HeldError](err)
	l.others.Store(other)
	return err
}

func (l *outboxLock) holdName() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held, err = l.take()
	}
	return err
}

// keep leaves the lock to the next host if both of its parts are held. It reports whether it did.
func (l *outboxLock) keep() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = l.held != nil && l.directory.Lock() == nil
	return l.kept
}

func (l *outboxLock) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept {
		return nil
	}
	err := l.directory.Unlock()
	if l.held != nil {
		err = errors.Join(err, l.held.Unlock())
		l.held = nil
	}
	return err
}
