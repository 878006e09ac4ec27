package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// walk is one walk through a directory, depth first.
type walk struct {
	ctx      context.Context
	bounds   Bounds
	deadline time.Time
	visit    func(entry) // called for every name
	full     func() bool // reports whether the visitor has had enough

	levels []*level
	pages  [][]byte // not in use
	seen   Seen
	began  time.Duration // processor time that the thread had used at the start
	stat   unix.Statx_t  // of the entry that is being looked at
}

// entry is a name that the walk found, with the facts about it. It is valid only during the visit.
type entry struct {
	in   *level
	name string
	stat *unix.Statx_t
}

const (
	maxOpen    = 32 // directories that are open at once
	checkEvery = 64 // entries between two looks at the processor time
	wanted     = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_NLINK | unix.STATX_INO | unix.STATX_BLOCKS | unix.STATX_CTIME
)

// run walks d. If the processor time is bounded, the goroutine must have locked its thread.
func (w *walk) run(d *Dir) (Seen, error) {
	w.began = threadTime()
	if w.bounds.Time > 0 {
		w.deadline = time.Now().Add(w.bounds.Time)
	}
	defer w.close()
	root, err := open(int(d.file.Fd()), ".", readDir, beneath)
	if err == nil {
		w.push("", root)
		err = w.loop()
	}
	if err != nil {
		return w.seen, fmt.Errorf("walk through a workspace: %w", err)
	}
	return w.seen, nil
}

func (w *walk) loop() error {
	for len(w.levels) > 0 && !w.over() {
		at := w.levels[len(w.levels)-1]
		name, err := at.read()
		switch {
		case err != nil && len(w.levels) == 1:
			return err
		case err != nil:
			w.seen.Missed++
			fallthrough
		case name == "":
			w.pop()
		default:
			w.seen.Entries++
			w.look(at, name)
		}
	}
	return nil
}

// over reports whether a bound is reached.
func (w *walk) over() bool {
	switch {
	case w.bounds.Entries > 0 && w.seen.Entries > w.bounds.Entries, w.full():
		w.seen.Stopped = true
	case w.ctx.Err() != nil, !w.deadline.IsZero() && time.Now().After(w.deadline):
		w.seen.Stopped = true
	case w.bounds.Processor > 0 && w.seen.Entries%checkEvery == 0 && threadTime()-w.began > w.bounds.Processor:
		w.seen.Stopped = true
	}
	return w.seen.Stopped
}

// look visits the entry that has a name, and goes down if it is a directory.
func (w *walk) look(at *level, name string) {
	st := &w.stat
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	err := retry(func() error { return unix.Statx(at.fd, name, flags, wanted, st) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return // removed meanwhile
	case err != nil:
		w.seen.Missed++
		return
	case st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return // something of the host's; no child writes there
	}
	w.visit(entry{at, name, st})
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		w.descend(at, name)
	}
}

func (w *walk) descend(at *level, name string) {
	if len(w.levels) > MaxDepth {
		w.seen.Deep = true
		return
	}
	fd, err := open(at.fd, name, readDir, beneath)
	switch {
	case err == nil:
		w.push(name, fd)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		w.seen.Missed++
	}
	// Any other error means: it is no longer the same directory, or it is another mount.
}

func (w *walk) push(name string, fd int) {
	id, err := idOf(fd)
	if err != nil {
		unix.Close(fd)
		w.seen.Missed++
		return
	}
	if away := len(w.levels) - maxOpen + 1; away >= 0 {
		w.putAway(w.levels[away])
	}
	w.levels = append(w.levels, &level{name: name, id: id, fd: fd, page: w.page()})
}

func (w *walk) page() []byte {
	if last := len(w.pages) - 1; last >= 0 {
		page := w.pages[last]
		w.pages = w.pages[:last]
		return page
	}
	return make([]byte, pageSize)
}

func (w *walk) putAway(l *level) {
	if l.fd < 0 {
		return
	}
	unix.Close(l.fd)
	w.pages = append(w.pages, l.page)
	l.fd, l.page, l.rest = -1, nil, nil
}

// pop goes up by one level. If the directory was moved meanwhile, its former parent cannot be found from here, and the
// walk ends.
func (w *walk) pop() {
	below := w.levels[len(w.levels)-1]
	w.levels = w.levels[:len(w.levels)-1]
	if last := len(w.levels) - 1; last >= 0 && w.levels[last].fd < 0 {
		page := w.page()
		if !w.levels[last].findAgain(below, page) {
			w.pages = append(w.pages, page)
			w.seen.Missed += int64(len(w.levels))
			w.levels = nil
		}
	}
	w.putAway(below)
}

func (w *walk) close() {
	for _, l := range w.levels {
		w.putAway(l)
	}
}

// path returns where an entry lies below the walked directory, as the walk found it. Its cost does not grow with the
// depth, because it shows only the end of a long path.
func (w *walk) path(name string) string {
	size, first := len(name), len(w.levels)
	for first > 1 && size+len(w.levels[first-1].name) < maxShown-len(cutPath) {
		first--
		size += len(w.levels[first].name) + 1
	}
	var b strings.Builder
	if first > 1 {
		b.WriteString(cutPath)
	}
	for _, l := range w.levels[first:] {
		b.WriteString(l.name)
		b.WriteByte('/')
	}
	b.WriteString(name)
	return b.String()
}

// cutPath replaces the beginning of a path that is too long.
const cutPath = ".../"
