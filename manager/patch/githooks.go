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

// hookSearch asks the parent's git where it takes its hooks from. Hooks themselves are executables, and asked for as such; in their
// directories lies also what they read. Git runs no program to answer, and nothing of the child's is in its files yet.
type hookSearch struct {
	roots      []string          // the directory to which a child's work is taken, as it was named and as it is without links
	dirs       map[string]string // of hooks, relative to the directory, and why they count
	unknown    string            // why some directories may not be known, or ""
	repository bool              // there is one, around the directory or in it
	looked     map[string]bool   // at directories, for a repository
	patience   time.Duration     // with git; none is left once it was too slow
}

// gitPatience bounds how long git may take for an answer. A FIFO among its files has no end.
const gitPatience = 30 * time.Second

// findHooks asks for the directory to which a child's work is taken, the repositories around it, and those in it that have changes.
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

// searchHooks asks for a directory and the repositories around it.
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

// look asks for the repository of a directory, if that has one. It says whether it was not looked at before.
func (s *hookSearch) look(ctx context.Context, dir string) bool {
	if s.looked[dir] {
		return false
	}
	s.looked[dir] = true
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return true
	}
	s.repository = true
	// What the environment says of another repository does not count for this one.
	without := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"}
	s.askConfig(ctx, dir, without)
	if hooks := s.git(ctx, dir, without, "rev-parse", "--git-path", "hooks"); hooks != "" {
		s.add(from(dir, strings.TrimSuffix(hooks, "\n")), "git, from its directory of hooks")
	}
	return true
}

// askConfig asks for each directory that a configuration names, also where another one has the last word.
func (s *hookSearch) askConfig(ctx context.Context, dir string, without []string) {
	answer := s.git(ctx, dir, without, "config", "--show-scope", "--null", "--type=path", "--get-all", "core.hooksPath")
	fields := strings.Split(answer, "\x00")
	for ; len(fields) > 1; fields = fields[2:] {
		if fields[1] != "" {
			s.add(from(dir, fields[1]), fmt.Sprintf("git, from core.hooksPath (%s)", fields[0]))
		}
	}
}

// git is what git answers in a directory, or "". The environment is the parent's, but for what is left out of it.
func (s *hookSearch) git(ctx context.Context, dir string, without []string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	without = append(without, "GIT_CONFIG") // with it git reads that file alone
	g := git{dir: dir, env: environ(func(name string) bool { return slices.Contains(without, name) })}
	answer, err := g.run(ctx, append([]string{"-c", anyOwner}, args...)...)
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return answer
	case args[0] == "config" && exit != nil && exit.ExitCode() == 1: // no configuration names one
	case ctx.Err() != nil:
		s.unknown, s.patience = "git did not answer in time", 0
	case exit != nil:
		s.unknown = "git does not say where its hooks lie"
	case s.repository:
		s.unknown = "git cannot be run here"
	}
	return ""
}

// from is a path that is meant from a directory.
func from(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// add takes note of a directory of hooks, where it is in the tree or the tree in it: as it is named, and as it is without links.
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

// withoutLinks is a path with the links in it followed, as far as there is something at it.
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

// asked are the directories of hooks as places that count.
func (s *hookSearch) asked() asked {
	a := asked{}
	for dir, why := range s.dirs {
		a.add(dir, why)
	}
	return a
}
