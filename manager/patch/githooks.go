package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hookSearch asks the parent's git where it takes its hooks from. The hooks themselves are executables, and the parent
// is asked about them as such; but their directories also hold files that the hooks read. Git runs no program to
// answer, and its files hold nothing from the child yet.
type hookSearch struct {
	roots      []string          // the directory that takes a child's work: as it was named, and without links
	dirs       map[string]string // of hooks, relative to the directory, with the reasons why they count
	unknown    string            // why some directories may be unknown, or ""
	repository bool              // there is a repository, around the directory or in it
	looked     map[string]bool   // the directories that were searched for a repository
	patience   time.Duration     // with git; none is left once git was too slow
}

// gitPatience bounds how long git may take for an answer. A FIFO among its files would make git wait for ever.
const gitPatience = 30 * time.Second

// findHooks asks about the directory that takes a child's work, about the repositories around it, and about those
// inside it that get changes.
func (w *Work) findHooks(ctx context.Context, dir string) *hookSearch {
	s := searchHooks(ctx, dir, gitPatience)
	for i := range w.Changes {
		for at := above(w.Changes[i].Path); at != "."; at = above(at) {
			if !s.look(ctx, filepath.Join(dir, at)) {
				break
			}
		}
	}
	return s
}

// searchHooks asks about a directory and the repositories around it.
func searchHooks(ctx context.Context, dir string, patience time.Duration) *hookSearch {
	s := &hookSearch{roots: []string{dir, withoutLinks(dir)}, dirs: map[string]string{}, looked: map[string]bool{}, patience: patience}
	for at := s.roots[1]; ; at = filepath.Dir(at) {
		s.look(ctx, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	if !s.repository || os.Getenv("GIT_DIR") != "" {
		s.askConfig(ctx, dir, nil)
	}
	return s
}

// look asks for the hooks of a directory's repository, if it has one. It reports whether the directory was new to it.
func (s *hookSearch) look(ctx context.Context, dir string) bool {
	if s.looked[dir] {
		return false
	}
	s.looked[dir] = true
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return true
	}
	s.repository = true
	// The environment may name another repository; that does not count here.
	without := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"}
	s.askConfig(ctx, dir, without)
	if hooks := s.git(ctx, dir, without, "rev-parse", "--git-path", "hooks"); hooks != "" {
		s.add(from(dir, strings.TrimSuffix(hooks, "\n")), "git, from its directory of hooks")
	}
	return true
}

// askConfig asks for every hooks directory that any configuration names, even if another configuration overrides it.
func (s *hookSearch) askConfig(ctx context.Context, dir string, without []string) {
	answer := s.git(ctx, dir, without, "config", "--show-scope", "--null", "--type=path", "--get-all", "core.hooksPath")
	fields := strings.Split(answer, "\x00")
	for ; len(fields) > 1; fields = fields[2:] {
		if fields[1] != "" {
			s.add(from(dir, fields[1]), fmt.Sprintf("git, from core.hooksPath (%s)", fields[0]))
		}
	}
}

// git returns git's answer in a directory, or "". It gets the parent's environment, except the variables in without.
func (s *hookSearch) git(ctx context.Context, dir string, without []string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	without = append(without, "GIT_CONFIG") // with it git would read only that file
	g := git{dir: dir, env: environ(func(name string) bool { return slices.Contains(without, name) })}
	answer, err := g.run(ctx, append([]string{"-c", anyOwner}, args...)...)
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return answer
	case args[0] == "config" && exit != nil && exit.ExitCode() == 1: // no configuration names a directory
	case ctx.Err() != nil:
		s.unknown, s.patience = "git did not answer in time", 0
	case exit != nil:
		s.unknown = "git does not say where its hooks lie"
	case s.repository:
		s.unknown = "git cannot be run here"
	}
	return ""
}

// from returns p as seen from dir: an absolute p stays, a relative p starts at dir.
func from(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// add records a directory of hooks if it lies in the tree or the tree lies in it. It tries the directory's given path,
// and its path without links.
func (s *hookSearch) add(dir, why string) {
	for _, dir := range []string{dir, withoutLinks(dir)} {
		for _, root := range s.roots {
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				continue
			}
			if around, err := filepath.Rel(dir, root); err == nil && !isOutside(around) {
				rel = "."
			}
			if !isOutside(rel) {
				s.dirs[rel] = cmp.Or(s.dirs[rel], why)
			}
		}
	}
}

// withoutLinks returns a path with its links followed, as far as the path exists.
func withoutLinks(p string) string {
	real, err := filepath.EvalSymlinks(p)
	switch up := filepath.Dir(p); {
	case err == nil:
		return real
	case up == p:
		return p
	default:
		return filepath.Join(withoutLinks(up), filepath.Base(p))
	}
}

// asked returns the directories of hooks as places that count.
func (s *hookSearch) asked() asked {
	a := asked{}
	for dir, why := range s.dirs {
		a.add(dir, why)
	}
	return a
}
