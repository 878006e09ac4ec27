package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Artifacts finds the files that match want. It reads only regular files that have one name, belong to the directory's
// owner and have changed since want.Since. It ignores a child's link and another user's file.
func (d *Dir) Artifacts(ctx context.Context, bounds Bounds, want Want) (Artifacts, error) {
	m := newMeter(bounds)
	c := collection{want: want, room: want.Bytes}
	w := walk{ctx: ctx, bounds: bounds, full: func() bool { return false }}
	c.walk = &w
	w.visit = c.look
	err := m.time(func() (err error) {
		var st unix.Stat_t
		if err := unix.Fstat(int(d.file.Fd()), &st); err != nil {
			return err
		}
		c.owner = st.Uid
		c.found.Seen, err = w.run(d)
		return err
	})
	slices.SortFunc(c.found.Files, func(a, b Artifact) int { return strings.Compare(a.Path, b.Path) })
	return c.found, err
}

// collection is the result of an Artifacts call so far.
type collection struct {
	walk  *walk
	want  Want
	owner uint32
	room  int64 // bytes that may still be read
	found Artifacts
}

func (c *collection) look(e entry) {
	if e.stat.Mode&unix.S_IFMT != unix.S_IFREG || e.stat.Ctime.Sec < c.want.Since.Unix()-1 {
		return
	}
	name := c.walk.path(e.name)
	if !slices.ContainsFunc(c.want.Patterns, func(p string) bool { return matches(p, name) }) {
		return
	}
	if !isPlain(name) || len(c.found.Files) >= c.want.Number {
		c.found.Left++
		return
	}
	a, err := c.read(e)
	if err != nil {
		c.found.Left++
		return
	}
	a.Path = name
	c.found.Files = append(c.found.Files, a)
}

// matches reports whether a path is wanted: it lies below a pattern that ends with a slash, or path.Match accepts it.
func matches(pattern, name string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(name, pattern)
	}
	is, err := path.Match(pattern, name)
	return err == nil && is
}

// isPlain reports whether a path can be shown unchanged: it is complete and has only visible characters.
func isPlain(name string) bool {
	return utf8.ValidString(name) && !strings.HasPrefix(name, cutPath) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) })
}

var errNotOwn = errors.New("it is not a file of the child's")

// read opens a file below its directory. It hashes the file if that still fits into the bytes that may be read.
func (c *collection) read(e entry) (a Artifact, err error) {
	pin, err := open(e.in.fd, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, beneath)
	if err != nil {
		return a, err
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return a, err
	}
	changed := st.Ctim.Nano() >= c.want.Since.UnixNano()
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || st.Uid != c.owner || !changed {
		return a, errNotOwn
	}
	a.Size = st.Size
	if st.Size > c.room || c.walk.over() {
		return a, nil
	}
	file, err := readPinned(pin)
	if err != nil {
		return a, err
	}
	defer file.Close()
	c.room -= st.Size
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, st.Size))
	if err != nil || n != st.Size {
		return a, nil // the file is changing or cannot be read: leave out the digest
	}
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return a, nil
}
