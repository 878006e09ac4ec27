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

	absolute "torno/internal/paths"
)

// ErrRules says that git could not tell which paths it ignores.
var ErrRules = errors.New("cannot find out which files git ignores")

// ignoredIn returns the paths that git ignores in a directory of the parent's. hasRules is false if no repository has a
// say there: there is none, or the only one ignores the whole directory. The paths name files; the files need not
// exist. The innermost repository judges each path, unless an outer one ignores that repository as a whole. Git ignores
// no file that it tracks.
//
// The rules come only from the repositories, not from the user's settings. ignoredIn asks no repository in the outbox:
// git obeys a repository's settings, and these may be a child's.
func (s *Store) ignoredIn(ctx context.Context, subagent, dir string, paths []string) (ignored map[string]bool, hasRules bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	home, err := s.gitSettings(subagent)
	if err != nil {
		return nil, false, err
	}
	i := ignoring{
		ctx: ctx, outbox: s.outbox, dir: withoutLinks(dir), env: rulesEnvironment(home), spots: map[string]spot{".": {reached: true, repository: "."}}, asked: map[string][]string{},
	}
	i.lookAround()
	for _, p := range paths {
		i.add(p)
	}
	if ignored, err = i.answer(); err != nil {
		return nil, false, fmt.Errorf("%w in %s: %w", ErrRules, dir, err)
	}
	maps.DeleteFunc(ignored, func(p string, _ bool) bool { _, is := i.asked[p]; return is }) // a repository, which is not a file
	return ignored, len(i.asked) > 0, nil
}

// rulesEnvironment returns an environment for git without other programs and without the network.
func rulesEnvironment(home string) []string {
	return append(ownEnvironment(home), "GIT_ALLOW_PROTOCOL=none", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
}

// hasRepository reports whether git would take a directory for a repository. A git directory without HEAD does not
// count. An unreadable git directory counts, so that git reports the error.
func hasRepository(dir string) bool {
	at := filepath.Join(dir, gitDirectory)
	if _, err := os.Lstat(at); isAbsent(err) {
		return false
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return true
	}
	_, err := os.Lstat(filepath.Join(at, "HEAD"))
	return !isAbsent(err)
}

// ignoring collects questions about the paths that git ignores in a directory, by repository.
type ignoring struct {
	ctx         context.Context
	outbox, dir string // dir is without links
	top         string // the directory whose repository dir has or lies in
	env         []string
	spots       map[string]spot     // by directory, relative to dir
	asked       map[string][]string // by repository: paths of files and of repositories in it; no "." if dir neither has a repository nor lies in one
}

// spot tells how git gets to a directory of the parent's.
type spot struct {
	reached    bool   // through directories alone; git says nothing about paths beyond a link
	repository string // the innermost one, relative to the directory; "." also stands for one around it
}

// lookAround finds out whether the directory has a repository or lies in one.
func (i *ignoring) lookAround() {
	for at := i.dir; ; at = filepath.Dir(at) {
		switch {
		case hasRepository(at) && at == i.dir:
			i.top, i.asked["."] = at, nil
			return
		case hasRepository(at): // it may ignore all of the directory
			i.top, i.asked["."] = at, []string{"."}
			return
		case at == filepath.Dir(at):
			return
		}
	}
}

// checkOwners refuses the directory's repository if a part of it belongs to a user who is neither root, nor the user of
// this process, nor the owner of the directory. Git itself does the same, because anybody could make a repository in
// /tmp.
func (i *ignoring) checkOwners(repository string) error {
	ours, err := os.Stat(i.dir)
	if err != nil {
		return err
	}
	us, _ := ownerOf(ours)
	for _, part := range []string{repository, filepath.Join(i.top, gitDirectory), i.top} {
		found, err := os.Lstat(part)
		if err != nil {
			return err
		}
		if owner, _ := ownerOf(found); owner != 0 && owner != os.Geteuid() && owner != us {
			return fmt.Errorf("the repository is not trusted: %s belongs to user %d", part, owner)
		}
	}
	return nil
}

func (i *ignoring) spot(dir string) spot {
	if s, known := i.spots[dir]; known {
		return s
	}
	s := i.spot(above(dir))
	full := filepath.Join(i.dir, dir)
	switch info, err := os.Lstat(full); {
	case err != nil: // only the child has it
	case !info.IsDir():
		s.reached = false
	case s.reached && hasRepository(full):
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

// answer asks the repositories, outer ones first, and returns all ignored paths.
func (i *ignoring) answer() (map[string]bool, error) {
	all := map[string]bool{}
	for _, repository := range slices.SortedFunc(maps.Keys(i.asked), outerFirst) {
		paths := i.asked[repository]
		if repository != "." && all[repository] {
			for _, p := range paths {
				all[path.Clean(p)] = true
			}
			continue
		}
		some, err := i.answerOf(repository, paths)
		if err != nil {
			return nil, err
		}
		if some["."] { // whoever names a directory that is ignored as a whole wants its content
			delete(i.asked, ".")
			continue
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// outerFirst orders directories so that each comes before the directories inside it.
func outerFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == ".":
		return -1
	case b == ".":
		return 1
	}
	return cmp.Compare(a, b)
}

// answerOf returns the paths that a repository ignores.
func (i *ignoring) answerOf(repository string, paths []string) (map[string]bool, error) {
	g := git{dir: filepath.Join(i.dir, repository), env: i.env}
	found := ""
	err := apart(g.dir, i.outbox)
	if err == nil {
		found, err = g.checkApart(i.ctx, i.outbox)
	}
	if errors.Is(err, errInOutbox) {
		return nil, nil
	}
	if err == nil && repository == "." {
		err = i.checkOwners(found)
	}
	if err == nil {
		err = i.checkSparse(g)
	}
	if err != nil {
		return nil, err
	}
	var question strings.Builder
	for _, p := range paths {
		if p == "." { // ask by its name: a rule about its whole content does not ignore the directory itself
			p = i.itself()
		}
		question.WriteString("./" + strings.TrimPrefix(p, repository+"/") + "\x00")
	}
	g.input, g.most = question.String(), maxRuled
	answer, err := g.run(i.ctx, "-c", noMonitor, "check-ignore", "--no-index", "--verbose", "-z", "--stdin")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil // no rule matches any of the paths
	}
	if err != nil {
		return nil, fmt.Errorf("git check-ignore: %w", err)
	}
	ignored := map[string]bool{}
	for fields := strings.Split(answer, "\x00"); len(fields) > 4; fields = fields[4:] { // rule's file, its line, rule, path
		p := path.Join(repository, fields[3])
		if p == i.itself() {
			p = "."
		}
		if !strings.HasPrefix(fields[2], "!") {
			ignored[p] = true
		}
	}
	tracked, err := i.list(g, "--cached", "--ignored", "--exclude-standard")
	for _, p := range tracked {
		delete(ignored, path.Join(repository, p))
	}
	return ignored, err
}

// itself returns the path that leads git from inside the directory to the directory itself.
func (i *ignoring) itself() string { return "../" + filepath.Base(i.dir) }

// list returns paths of a repository's index.
func (i *ignoring) list(g git, args ...string) ([]string, error) {
	g.input, g.most = "", maxRuled
	answer, err := g.run(i.ctx, append([]string{"-c", noMonitor, "ls-files", "-z"}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	return strings.FieldsFunc(answer, func(r rune) bool { return r == 0 }), nil
}

// checkSparse refuses a sparse checkout that leaves out the rules of an existing directory: git obeys these rules, but
// check-ignore does not.
func (i *ignoring) checkSparse(g git) error {
	rules, err := i.list(g, "-t", "--", ":(top,glob)**/.gitignore")
	for _, rule := range rules {
		p, skipped := strings.CutPrefix(rule, "S ")
		if !skipped {
			continue
		}
		full := filepath.Join(g.dir, p)
		if !absolute.Nested(filepath.Dir(full), g.dir) {
			continue // it is about other directories
		}
		_, err1 := os.Lstat(filepath.Dir(full))
		if _, err2 := os.Lstat(full); err1 == nil && err2 != nil {
			return fmt.Errorf("a sparse checkout leaves out %s", p)
		}
	}
	return err
}

// maxRuled bounds git's answer about a tree, in bytes.
const maxRuled = 256 << 20

// noMonitor keeps git from starting a program that watches files.
const noMonitor = "core.fsmonitor=false"

// wholly returns the ignored paths. If git ignores everything in a directory, the directory stands for the paths in it.
// This never happens to a directory that the child was given, or that holds something the child was given.
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
	for p := range before {
		keep(p)
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

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}
