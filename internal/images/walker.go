package images

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// level is a directory that the walker holds open on its way down.
type level struct {
	name string
	full string // its name from the root, "" for the root
	dir  *os.Root
}

// walker walks a tree by handle. It follows links as if the tree's root were the system's root, so that no link leads
// out. Each handle is an os.Root, which would refuse a link that did lead out.
//
// The stack holds the directories from the root to the walker's place. Entries that follow each other in a layer mostly
// lie near each other, so most of the stack can stay. Entries are removed only from the lowest directory, so no level
// of the stack is ever removed.
type walker struct {
	stack []level
	made  func() error            // counts a directory that the walker had to make
	spend func(steps int64) error // counts work
}

func (w *walker) dir() *os.Root { return w.stack[len(w.stack)-1].dir }

// full returns the name, from the root, of an entry in the walker's place.
func (w *walker) full(base string) string { return path.Join(w.stack[len(w.stack)-1].full, base) }

// cut closes all levels but the first n.
func (w *walker) cut(n int) {
	for len(w.stack) > n {
		w.dir().Close()
		w.stack = w.stack[:len(w.stack)-1]
	}
}

// enter goes from the root to a directory. With create, it makes the directories that are missing.
func (w *walker) enter(dir string, create bool) error {
	rest, depth, links := split(dir), 0, 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "..":
			depth = max(depth-1, 0)
			continue
		case depth+1 < len(w.stack) && w.stack[depth+1].name == name:
			depth++
			continue
		}
		w.cut(depth + 1)
		target, err := w.step(name, create)
		if err != nil {
			return err
		}
		if target == "" {
			depth++
			continue
		}
		if err := w.spend(int64(len(target)) / 64); err != nil {
			return err
		}
		if links++; links > maxLinks {
			return problem(Malformed, "a layer holds links that lead in circles, at %s", quoted(dir))
		}
		if path.IsAbs(target) {
			depth = 0
		}
		rest = append(split(target), rest...)
	}
	w.cut(depth + 1)
	return nil
}

// step goes down by one name. If the name is a link, it stays and returns the link's target.
func (w *walker) step(name string, create bool) (target string, err error) {
	if err := w.spend(1); err != nil {
		return "", err
	}
	here := w.dir()
	info, err := here.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := w.made(); err != nil {
			return "", err
		}
		if err := here.Mkdir(name, 0o755); err != nil {
			return "", hostile(err, name)
		}
		info, err = here.Lstat(name)
	}
	switch {
	case err != nil:
		return "", hostile(err, name)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err = here.Readlink(name)
		return target, err
	case !info.IsDir():
		return "", problem(Malformed, "a layer holds a file in %s, which is not a directory", quoted(w.full(name)))
	case len(w.stack) > maxDepth || len(w.full(name)) > maxPath:
		return "", problem(Malformed, "a layer holds directories deeper than %d or longer than %d bytes", maxDepth, maxPath)
	}
	down, err := here.OpenRoot(name)
	if err != nil {
		return "", err
	}
	w.stack = append(w.stack, level{name, w.full(name), down})
	return "", nil
}

func split(dir string) []string {
	return strings.FieldsFunc(dir, func(r rune) bool { return r == '/' })
}
