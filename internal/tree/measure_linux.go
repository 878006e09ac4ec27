package tree

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// blockSize is the unit of st_blocks, whatever the file system's own blocks are.
const blockSize = 512

// maxLinked bounds how many files with several names are remembered. Beyond it each name counts for its share, which is
// right as long as all of its names are in the directory.
const maxLinked = 65_536

// Measure says how much the directory holds, the directory itself included. It stops when a bound is exceeded.
func (d *Dir) Measure(ctx context.Context, bounds Bounds) (Usage, error) {
	m := newMeter(bounds)
	w := walk{ctx: ctx, bounds: bounds, visit: func(e entry) { m.count(e.stat) }, full: m.full}
	err := m.time(func() (err error) {
		m.root(d)
		m.Seen, err = w.run(d)
		return err
	})
	return m.Usage, err
}

// meter adds up what a walk comes by.
type meter struct {
	Usage
	bounds Bounds
	since  int64
	linked map[ID]bool
}

func newMeter(bounds Bounds) *meter {
	return &meter{bounds: bounds, since: bounds.Since.UnixNano(), linked: make(map[ID]bool)}
}

func (m *meter) full() bool { return m.bounds.Bytes > 0 && m.Bytes > m.bounds.Bytes }

func (m *meter) count(st *unix.Statx_t) {
	bytes := int64(st.Blocks) * blockSize
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		bytes = m.share(st, bytes)
	}
	m.add(bytes, st.Ctime.Sec*int64(time.Second)+int64(st.Ctime.Nsec))
}

func (m *meter) add(bytes, changed int64) {
	m.Bytes += bytes
	if !m.bounds.Since.IsZero() && changed >= m.since {
		m.Fresh += bytes
	}
}

// share is what one of several names of a file counts for.
func (m *meter) share(st *unix.Statx_t, bytes int64) int64 {
	id := statID(st)
	switch {
	case m.linked[id]:
		return 0
	case len(m.linked) < maxLinked:
		m.linked[id] = true
		return bytes
	default:
		return bytes / int64(st.Nlink)
	}
}

// root counts the directory's own blocks: a long list of names is something too.
func (m *meter) root(d *Dir) {
	var st unix.Stat_t
	if unix.Fstat(int(d.file.Fd()), &st) == nil {
		m.add(st.Blocks*blockSize, st.Ctim.Nano())
	}
}

func statID(st *unix.Statx_t) ID {
	return ID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// time takes the processor time of f: a child that makes a walk slow must not make the next one late.
func (m *meter) time(f func() error) error {
	if !m.bounds.Humble {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return m.timed(f)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: an ordinary user's thread cannot get its priority back, so it ends here
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), lowest)
		done <- m.timed(f)
	}()
	return <-done
}

// lowest is the lowest priority.
const lowest = 19

func (m *meter) timed(f func() error) error {
	before := threadTime()
	err := f()
	m.Cost = threadTime() - before
	return err
}

func threadTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
