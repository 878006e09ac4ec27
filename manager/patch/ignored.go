package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrRules says that it cannot be found out what a repository ignores.
var ErrRules = errors.New("it is not known what git ignores")

// ignoredIn returns those of the paths that git ignores in a directory of the parent's, and whether it has rules for it: it has none where there is no
// repository, and none count where it ignores the whole directory. The paths are of files, which need not exist there. Each is judged by the repository
// that it lies in; a repository within another goes by its own rules, unless the outer one ignores it as a whole. What a repository tracks is not ignored.
//
// The rules are the repositories' own: .gitignore, info/exclude and core.excludesFile of their settings. No repository in the outbox is asked, because
// git obeys its settings, which may be a child's.
func (s *Store) ignoredIn(ctx context.Context, subagent, dir string, paths []string) (ignored map[string]bool, hasRules bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	home, err := s.gitSettings(subagent)
	if err != nil {
		return nil, false, err
	}
	i := ignoring{
		ctx: ctx, outbox: s.outbox, dir: dir, env: rulesEnvironment(home), spots: map[string]spot{".": {reached: true, repository: "."}}, asked: map[string][]string{},
	}
	if hasRepositoryAround(dir) {
		i.asked["."] = []string{"."}
	}
	for _, p := range paths {
		i.add(p)
	}
	if ignored, err = i.answer(); err != nil {
		return nil, false, fmt.Errorf("%w in %s: %w", ErrRules, dir, err)
	}
	if ignored["."] {
		return nil, false, nil
	}
	maps.DeleteFunc(ignored, func(p string, _ bool) bool { _, is := i.asked[p]; return is }) // a repository, which is no file
	return ignored, len(i.asked) > 0, nil
}

// rulesEnvironment returns an environment in which git tells what it ignores, and runs and fetches nothing for that.
func rulesEnvironment(home string) []string {
	return append(ownEnvironment(home), "GIT_ALLOW_PROTOCOL=none", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
}

// hasRepositoryAround reports whether a directory or one above it has a repository.
func hasRepositoryAround(dir string) bool {
	for at := withoutLinks(dir); ; at = filepath.Dir(at) {
		if hasRepository(at) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// hasRepository reports whether git would look for a repository in a directory. It goes on above a git directory that has no HEAD.
func hasRepository(dir string) bool {
	at := filepath.Join(dir, gitDirectory)
	info, err := os.Stat(at)
	if err == nil && info.IsDir() {
		_, err = os.Lstat(filepath.Join(at, "HEAD"))
	}
	return err == nil
}

// ignoring collects questions about what git ignores in a directory, by repository.
type ignoring struct {
	ctx         context.Context
	outbox, dir string
	env         []string
	spots       map[string]spot     // by directory, relative to dir
	asked       map[string][]string // by repository: paths of files, and of repositories in it; none for "." without one there or around it
}

// spot tells of a directory of the parent's how git gets to it.
type spot struct {
	reached    bool   // through directories alone; git says nothing of what lies beyond a link
	repository string // the innermost one, relative to the directory; "." also stands for one around it
}

func (i *ignoring) spot(dir string) spot {
	if s, known := i.spots[dir]; known {
		return s
	}
	s := i.spot(above(dir))
	full := filepath.Join(i.dir, dir)
	if info, err := os.Lstat(full); err == nil && !info.IsDir() {
		s.reached = false
	} else if s.reached && hasRepository(full) {
		i.ask(s.repository, dir)
		s.repository = dir
		i.asked[dir] = nil
	}
	i.spots[dir] = s
	return s
}

func (i *ignoring) add(path string) {
	if s := i.spot(above(path)); s.reached {
		i.ask(s.repository, path)
	}
}

func (i *ignoring) ask(repository, path string) {
	if paths, has := i.asked[repository]; has {
		i.asked[repository] = append(paths, path)
	}
}

// answer has the repositories answer, outer ones first.
func (i *ignoring) answer() (map[string]bool, error) {
	all := map[string]bool{}
	outerFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	for _, repository := range slices.SortedFunc(maps.Keys(i.asked), outerFirst) {
		paths := i.asked[repository]
		if repository != "." && all[repository] {
			for _, p := range paths {
				all[p] = true
			}
			continue
		}
		some, err := i.answerOf(repository, paths)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// answerOf returns those of the paths that a repository ignores.
func (i *ignoring) answerOf(repository string, paths []string) (map[string]bool, error) {
	g := git{dir: filepath.Join(i.dir, repository), env: i.env}
	if apart(g.dir, i.outbox) != nil {
		return nil, nil
	}
	common, err := g.run(i.ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("git rev-parse: %w", err)
	}
	if apart(from(g.dir, strings.TrimSpace(common)), i.outbox) != nil {
		return nil, nil
	}
	var question strings.Builder
	for _, p := range paths {
		question.WriteString("./" + strings.TrimPrefix(p, repository+"/") + "\x00")
	}
	g.input, g.most = question.String(), question.Len()
	answer, err := g.run(i.ctx, "-c", noMonitor, "check-ignore", "--no-index", "-z", "--stdin")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil // it ignores none of them
	}
	if err != nil {
		return nil, fmt.Errorf("git check-ignore: %w", err)
	}
	g.input, g.most = "", maxNames
	tracked, err := g.run(i.ctx, "-c", noMonitor, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(strings.TrimSuffix(answer, "\x00"), "\x00") {
		ignored[path.Join(repository, p)] = true
	}
	for p := range strings.SplitSeq(strings.TrimSuffix(tracked, "\x00"), "\x00") {
		if p != "" {
			delete(ignored, path.Join(repository, p))
		}
	}
	return ignored, nil
}

// noMonitor has git start no program to see what has changed.
const noMonitor = "core.fsmonitor=false"

// wholly returns what to pass by so that all ignored paths are, and no other of the paths: a directory stands for all that is in it. No directory is
// passed by that the child was given, or that holds what it was given.
func wholly(ignored map[string]bool, paths []string, before tree) map[string]bool {
	stays := map[string]bool{".": true}
	keep := func(dir string) {
		for ; !stays[dir]; dir = above(dir) {
			stays[dir] = true
		}
	}
	for _, p := range paths {
		if !ignored[p] {
			keep(above(p))
		}
	}
	for p, e := range before {
		if e.Kind == Directory {
			keep(p)
		}
		keep(above(p))
	}
	tops := map[string]bool{}
	for p := range ignored {
		for !stays[above(p)] {
			p = above(p)
		}
		tops[p] = true
	}
	return tops
}
