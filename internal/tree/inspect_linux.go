package tree

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// Inspect measures the directory, takes the set-id bits off its files, and finds the entries that the parent should
// know about. own lists the paths under which others know the directory; an absolute link that points below one of them
// stays inside.
func (d *Dir) Inspect(ctx context.Context, bounds Bounds, own ...string) (Findings, error) {
	m := newMeter(bounds)
	i := inspection{own: own, several: make(map[ID]*several)}
	w := walk{ctx: ctx, bounds: bounds, full: m.full}
	i.walk = &w
	w.visit = func(e entry) {
		m.count(e.stat)
		i.look(e)
	}
	err := m.time(func() (err error) {
		if i.owner, _, err = OwnerOf(d.file); err != nil {
			return err
		}
		m.root(d)
		m.Seen, err = w.run(d)
		return err
	})
	i.settle()
	i.found.Usage = m.Usage
	return i.found, err
}

// inspection is the result of an Inspect call so far.
type inspection struct {
	walk    *walk
	own     []string
	owner   uint32 // of the directory
	found   Findings
	several map[ID]*several
	target  [unix.PathMax]byte // of the link that is being looked at
}

// several is a set-id file with several names. Only when the walk has seen all of them is it certain that none lies
// outside the directory.
type several struct {
	first string
	seen  uint32
}

const (
	setIDs     = unix.S_ISUID | unix.S_ISGID
	maxSeveral = 1024
)

func (i *inspection) look(e entry) {
	switch e.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if e.stat.Mode&setIDs != 0 {
			i.setID(e)
		}
	case unix.S_IFBLK, unix.S_IFCHR:
		i.note(&i.found.Devices, e)
	case unix.S_IFIFO:
		i.note(&i.found.FIFOs, e)
	case unix.S_IFSOCK:
		i.note(&i.found.Sockets, e)
	case unix.S_IFLNK:
		if i.leadsOut(e) {
			i.note(&i.found.Links, e)
		}
	}
}

// note counts an entry, and records the path of the first few.
func (i *inspection) note(f *Finding, e entry) {
	if len(f.Names) < maxNames {
		f.Names = append(f.Names, i.walk.path(e.name))
	}
	f.Count++
}

// setID clears the set-id bits of a file. If the file has several names, it does so at the last of them.
func (i *inspection) setID(e entry) {
	if e.stat.Nlink > 1 && !i.lastName(e) {
		return
	}
	if i.clearSetID(e) == nil {
		i.note(&i.found.Cleared, e)
	} else {
		i.note(&i.found.SetID, e)
	}
}

// lastName reports whether all names of a file have been seen by now.
func (i *inspection) lastName(e entry) bool {
	id := statID(e.stat)
	file := i.several[id]
	if file == nil {
		if len(i.several) == maxSeveral {
			i.note(&i.found.SetID, e)
			return false
		}
		file = &several{first: i.walk.path(e.name)} // remember the path now; only the end shows which files have unseen names
		i.several[id] = file
	}
	if file.seen++; file.seen < e.stat.Nlink {
		return false
	}
	delete(i.several, id)
	return true
}

// settle reports the files that have unseen names.
func (i *inspection) settle() {
	f := &i.found.SetID
	for _, file := range i.several {
		if len(f.Names) < maxNames {
			f.Names = append(f.Names, file.first)
		}
		f.Count++
	}
}

// clearSetID changes exactly the file that was looked at, if the file is unchanged and belongs to the owner of the
// directory: no child made a file of another user. It reaches the file below its directory, through no link and without
// opening it.
func (i *inspection) clearSetID(e entry) error {
	fd, err := open(e.in.fd, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, beneath)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	links := uint64(now.Nlink) // on some processors it already is a uint64
	if now.Ino != e.stat.Ino || now.Uid != i.owner || now.Mode&unix.S_IFMT != unix.S_IFREG || links > uint64(e.stat.Nlink) {
		return unix.ESTALE
	}
	return retry(func() error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), now.Mode&0o7777&^setIDs) })
}

// leadsOut reports whether a link may lead out of the directory. A path that first goes up and then down stays inside,
// as long as it does not go up more levels than the link lies deep; any other link on its way is checked as well. A
// path that goes up after it went down can lead anywhere.
func (i *inspection) leadsOut(e entry) bool {
	n, err := unix.Readlinkat(e.in.fd, e.name, i.target[:])
	if err != nil {
		return true
	}
	target, depth := i.target[:n], len(i.walk.levels)-1
	if bytes.HasPrefix(target, []byte("/")) {
		rel, inside := below(i.own, target)
		if !inside {
			return true
		}
		target, depth = rel, 0
	}
	return goesUp(target, depth)
}

// below returns a path relative to the directory, if the path begins with one of the directory's own names.
func below(own []string, target []byte) ([]byte, bool) {
	for _, name := range own {
		if rel, ok := bytes.CutPrefix(target, []byte(name)); ok && (len(rel) == 0 || rel[0] == '/') {
			return rel, true
		}
	}
	return nil, false
}

// goesUp reports whether a path goes up by more than depth levels, or goes up after it went down.
func goesUp(path []byte, depth int) bool {
	down := false
	for part := range bytes.SplitSeq(path, []byte("/")) {
		switch string(part) {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return true
			}
		default:
			down = true
		}
	}
	return false
}
