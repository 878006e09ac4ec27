package tree

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// blockSize is the unit of st_blocks, however large the file system's own blocks are.
const blockSize = 512

// maxLinked bounds the number of files with several names that are remembered. Beyond it each name counts for its share
// of the file; the sum is right as long as all names are in the directory.
const maxLinked = 65_536

// Measure returns how much the directory holds, including the directory itself. It stops when a bound is exceeded.
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

// meter adds up the sizes that a walk finds.
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

// share returns the bytes to count for one name of a file that has several.
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

// root counts the directory's own blocks, because a long list of names takes space too.
func (m *meter) root(d *Dir) {
	var st unix.Stat_t
	if unix.Fstat(int(d.file.Fd()), &st) == nil {
		m.add(st.Blocks*blockSize, st.Ctim.Nano())
	}
}

func statID(st *unix.Statx_t) ID {
	return ID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// time runs f and measures the processor time that it uses. The caller plans its next walk by that. Elapsed time would
// not do: a child that makes a walk slow must not make the next one late.
func (m *meter) time(f func() error) error {
	if !m.bounds.Humble {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return m.timed(f)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: an ordinary user's thread cannot raise its priority again, so the thread ends here
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
