package patch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"torno/internal/beneath"
)

// found is a name that a walk has found in an open directory.
type found struct {
	in    *os.Root
	path  string
	name  string
	info  os.FileInfo
	fault string
}

// walk goes through a tree by handle, in the order of names. It never follows a link and opens nothing but directories.
type walk struct {
	ctx    context.Context
	pick   Selection
	limits Limits
	// leaveOut are directories that the walk does not enter, such as an outbox that lies in the tree. The walk calls
	// leftOut for each.
	leaveOut Own
	leftOut  func(path string)
	passBy   map[string]bool // paths that are skipped too
	given    bool            // the child was given a git directory, which does not count
	// visit is called for each selected name, and for directories on the way to one. A directory comes before its
	// content.
	visit func(found) error

	device  uint64
	entries int64
	names   int64
	gits    int64 // directories of git and similar programs that were skipped
	bare    bool  // the tree itself is a git directory
}

// ErrChanging says that a tree changed during a walk so that the result would be wrong.
var ErrChanging = errors.New("the directory is being changed")

func (w *walk) run(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	w.device = deviceOf(info)
	names, err := w.list(root)
	if err != nil {
		return err
	}
	w.bare = isRepository(names)
	return w.directory(root, "", names, 0)
}

func (w *walk) directory(at *os.Root, dir string, names []string, depth int) error {
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(at, name, path.Join(dir, name), depth); err != nil {
			return err
		}
	}
	return nil
}

// list reads the names of a directory, and fails if there are too many names in all.
func (w *walk) list(at *os.Root) ([]string, error) {
	dir, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var names []string
	for {
		some, err := dir.Readdirnames(256)
		names = append(names, some...)
		w.entries += int64(len(some))
		for _, name := range some {
			w.names += int64(len(name))
		}
		if err := w.limits.check(w.entries, 0, w.names); err != nil {
			return nil, err
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *walk) entry(at *os.Root, name, path string, depth int) error {
	switch {
	case isVersionControl(name):
		if !w.given || path != gitDirectory {
			w.gits++
		}
		return nil
	case w.passBy[path], !w.pick.leadsTo(path):
		return nil
	}
	info, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("look at %q: %w", path, err)
	}
	w.names += int64(len(path))
	f := found{in: at, path: path, name: name, info: info, fault: nameFault(path)}
	if w.bare && depth == 0 && repositoryPart(name) == "head" {
		f.fault = repositoryFault // without HEAD the other names make no git directory
	}
	if !info.IsDir() {
		if !w.pick.has(path) {
			return nil
		}
		return w.visit(f)
	}
	return w.enter(f, depth)
}

// enter visits a directory and its content.
func (w *walk) enter(f found, depth int) error {
	if w.leaveOut.has(f.info) {
		w.leftOut(f.path)
		return nil
	}
	switch {
	case f.fault != "": // nothing in it can be taken over either
		return w.visit(f)
	case depth >= maxDepth:
		f.fault = fmt.Sprintf("it lies deeper than %d directories", maxDepth)
		return w.visit(f)
	case deviceOf(f.info) != w.device:
		f.fault = "it is on another file system"
		return w.visit(f)
	}
	dir, err := beneath.Step(f.in, f.name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.fault = unreadFault
		return w.visit(f)
	case err != nil: // it was a directory a moment ago
		return fmt.Errorf("%w: %q: %w", ErrChanging, f.path, err)
	}
	defer dir.Close()
	names, err := w.list(dir)
	if err != nil {
		return fmt.Errorf("list %q: %w", f.path, err)
	}
	if isRepository(names) {
		f.fault = repositoryFault
		return w.visit(f)
	}
	if err := w.visit(f); err != nil {
		return err
	}
	return w.directory(dir, f.path, names, depth+1)
}

func inodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func deviceOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev)
	}
	return 0
}
