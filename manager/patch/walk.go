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

// found is what a walk has come by: a name in a directory that is open.
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
	// leaveOut are directories that are not looked at, such as the outbox where it lies in the tree. leftOut is told of each.
	leaveOut Own
	leftOut  func(path string)
	passBy   map[string]bool // paths that are not looked at either
	given    bool            // the child was given a git directory, which counts for nothing
	// visit is called for each name that is selected, and for directories on the way to one; for a directory before what is in it.
	visit func(found) error

	device  uint64
	entries int64
	names   int64
	gits    int64 // directories of git and its like that were passed by
	bare    bool  // the tree itself is a git directory
}

// ErrChanging says that a tree changed under the walk in a way that would make its result a wrong one.
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

// list reads the names of a directory, as long as there are not too many in all.
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
		return nil // gone since
	}
	if err != nil {
		return fmt.Errorf("look at %q: %w", path, err)
	}
	w.names += int64(len(path))
	f := found{in: at, path: path, name: name, info: info, fault: nameFault(path)}
	if w.bare && depth == 0 && repositoryPart(name) == "head" {
		f.fault = repositoryFault // the others make no git directory without it
	}
	if !info.IsDir() {
		if !w.pick.has(path) {
			return nil
		}
		return w.visit(f)
	}
	return w.enter(f, depth)
}

// enter visits a directory and what is in it.
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
