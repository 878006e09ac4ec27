package tree

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// Inspect measures the directory, takes the set-id bits off its files, and finds what its parent should know of. own are
// the paths under which others know the directory: an absolute link to below one of them stays inside.
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
		m.root(d)
		m.Seen, err = w.run(d)
		return err
	})
	i.settle()
	i.found.Usage = m.Usage
	return i.found, err
}

// inspection is what an Inspect has come by.
type inspection struct {
	walk    *walk
	own     []string
	found   Findings
	several map[ID]*several
	target  [unix.PathMax]byte // of the link that is looked at
}

// several is a set-id file with several names. Only when all of them were seen in the directory does it belong to it alone.
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

// note counts, and names the first few.
func (i *inspection) note(f *Finding, e entry) {
	if len(f.Names) < maxNames {
		f.Names = append(f.Names, i.walk.path(e.name))
	}
	f.Count++
}

// setID clears the bits of a file, at the last of its names.
func (i *inspection) setID(e entry) {
	if e.stat.Nlink > 1 && !i.lastName(e) {
		return
	}
	if clearSetID(e) == nil {
		i.note(&i.found.Cleared, e)
	} else {
		i.note(&i.found.SetID, e)
	}
}

// lastName says whether all names of a file were seen by now.
func (i *inspection) lastName(e entry) bool {
	id := statID(e.stat)
	file := i.several[id]
	if file == nil {
		if len(i.several) == maxSeveral {
			i.note(&i.found.SetID, e)
			return false
		}
		file = &several{first: i.walk.path(e.name)} // which names will be left is only known at the end
		i.several[id] = file
	}
	if file.seen++; file.seen < e.stat.Nlink {
		return false
	}
	delete(i.several, id)
	return true
}

// settle tells of the files that have names which were not seen.
func (i *inspection) settle() {
	f := &i.found.SetID
	for _, file := range i.several {
		if len(f.Names) < maxNames {
			f.Names = append(f.Names, file.first)
		}
		f.Count++
	}
}

// clearSetID changes exactly the file that was looked at, if it is unchanged: beneath its directory, through no link,
// without opening it.
func clearSetID(e entry) error {
	fd, err := open(e.in.fd, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, beneath)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	links := uint64(now.Nlink) // it is that on some processors already
	if now.Ino != e.stat.Ino || now.Mode&unix.S_IFMT != unix.S_IFREG || links > uint64(e.stat.Nlink) {
		return unix.ESTALE
	}
	return retry(func() error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), now.Mode&0o7777&^setIDs) })
}

// leadsOut says whether a link may lead out of the directory. Up first and then down stays inside, if it does not go up
// by more than it lies deep, since any other link on its way is looked at too; up after down can be anywhere.
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

// below is a path as seen from the directory, if it begins with a name of the directory.
func below(own []string, target []byte) ([]byte, bool) {
	for _, name := range own {
		if rel, ok := bytes.CutPrefix(target, []byte(name)); ok && (len(rel) == 0 || rel[0] == '/') {
			return rel, true
		}
	}
	return nil, false
}

// goesUp says whether a path goes up by more than depth, or after it has gone down.
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
