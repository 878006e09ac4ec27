package patch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"torno/internal/beneath"
)

// hookSearch looks for the hooks of the parent's repositories: of the one in which a directory lies, and of those in it that
// have changes. Git's files are only read. They are the parent's own, so links are followed.
type hookSearch struct {
	hooks
	roots []string // the directory, as it was named and as it is without links
	seen  map[string]bool
	found bool // a repository, around the directory or in it
}

// hooksOf are the hooks that lie in a directory to which a child's work is taken.
func (w *Work) hooksOf(dir string) hooks {
	s := searchHooks(dir)
	for i := range w.Changes {
		for at := above(w.Changes[i].Path); at != "." && s.tree(filepath.Join(dir, at)); at = above(at) {
		}
	}
	return s.hooks
}

// searchHooks looks at the repositories in which a directory lies.
func searchHooks(dir string) *hookSearch {
	s := &hookSearch{hooks: hooks{paths: map[string]string{}, known: map[string]string{}}, roots: []string{dir}, seen: map[string]bool{}}
	real, err := filepath.EvalSymlinks(dir)
	if s.check(err) && real != dir {
		s.roots = append(s.roots, real)
	}
	for at := s.roots[len(s.roots)-1]; ; at = filepath.Dir(at) {
		s.tree(at)
		if at == filepath.Dir(at) {
			break
		}
	}
	return s
}

// check takes note of something that could not be read. That it is not there is no trouble.
func (s *hookSearch) check(err error) bool {
	s.blind = s.blind || err != nil && !isAbsent(err) && !errors.Is(err, syscall.ENOTDIR)
	return err == nil
}

// tree looks at a directory that may be a working tree of git's, and says whether it was not looked at before.
func (s *hookSearch) tree(dir string) bool {
	if s.seen[dir] {
		return false
	}
	s.seen[dir] = true
	s.repository(dir)
	return true
}

// repository looks at what is called .git in a directory: a git directory, or a file that says where it is.
func (s *hookSearch) repository(dir string) {
	git := filepath.Join(dir, ".git")
	info, err := os.Stat(git)
	if !s.check(err) {
		return
	}
	s.found = true
	if !info.IsDir() {
		text := strings.TrimSpace(s.read(git))
		place, ok := strings.CutPrefix(text, "gitdir:")
		if !ok {
			s.blind = true
			return
		}
		git = from(dir, strings.TrimSpace(place))
	}
	places := []string{git}
	if common := strings.TrimSpace(s.read(filepath.Join(git, "commondir"))); common != "" {
		places = append(places, from(git, common))
	}
	for _, place := range places {
		s.directory(filepath.Join(place, "hooks"))
		s.config(dir, filepath.Join(place, "config"))
		s.config(dir, filepath.Join(place, "config.worktree"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		s.config(dir, filepath.Join(home, ".gitconfig"))
		s.config(dir, filepath.Join(home, ".config/git/config"))
	}
}

// from is a path that is meant from a directory.
func from(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// directory looks at a directory of hooks: it may lie in the tree, and hooks may be links into the tree.
func (s *hookSearch) directory(hooks string) {
	s.add(hooks, "git, as a hook")
	all, err := os.ReadDir(hooks)
	s.check(err)
	for _, e := range all {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		hook := filepath.Join(hooks, e.Name())
		if target, err := os.Readlink(hook); s.check(err) {
			s.add(from(hooks, target), "git, as the hook "+e.Name())
		}
	}
}

// add takes note of a path that git runs, where it is one of the tree: as it is named, and as it is without links.
func (s *hookSearch) add(p, what string) {
	named := []string{p}
	if real, err := filepath.EvalSymlinks(p); s.check(err) && real != p {
		named = append(named, real)
	}
	for _, p := range named {
		for _, root := range s.roots {
			rel, err := filepath.Rel(root, p)
			if err != nil {
				continue
			}
			if around, err := filepath.Rel(p, root); err == nil && !isOutside(around) {
				rel = "." // all of the tree lies in it
			}
			if !isOutside(rel) {
				s.paths[fold(rel)] = what
			}
		}
	}
}

// config looks for core.hooksPath in a file of git's configuration. What it includes is looked at as well.
func (s *hookSearch) config(tree, file string) { s.configs(tree, file, nil) }

func (s *hookSearch) configs(tree, file string, including []string) {
	if slices.Contains(including, file) || len(including) > maxAliasing {
		return
	}
	for _, set := range settings(s.read(file)) {
		value := set.value
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(value, "~/") {
			value = filepath.Join(home, value[2:])
		}
		switch {
		case value == "":
		case set.key == "hookspath":
			s.directory(from(tree, value))
		case set.key == "path" && strings.HasPrefix(set.section, "include"):
			s.configs(tree, from(filepath.Dir(file), value), append(slices.Clone(including), file))
		}
	}
}

// read is the text of a short file of git's, or "".
func (s *hookSearch) read(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if !s.check(err) {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if s.check(err) && !info.Mode().IsRegular() {
		s.blind = true
		return ""
	}
	data, more, err := beneath.ReadUpTo(f, maxText)
	s.check(err)
	s.blind = s.blind || more
	return string(data)
}

// setting is a line of git's configuration. Section and key are in lower case.
type setting struct{ section, key, value string }

// settings reads a configuration of git's. It takes more for a setting than git does, and misses none.
func settings(text string) (all []setting) {
	section := ""
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "") // a line that goes on
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		for strings.HasPrefix(line, "[") {
			head, behind, _ := strings.Cut(line[1:], "]")
			section, line = strings.ToLower(head), strings.TrimSpace(behind)
		}
		key, value, _ := strings.Cut(line, "=")
		all = append(all, setting{section, strings.ToLower(strings.TrimSpace(key)), plainValue(value)})
	}
	return all
}

// plainValue is a value without its quotes, escapes and the comment behind it.
func plainValue(text string) string {
	var b strings.Builder
	quoted, kept := false, 0 // kept is how much is no space at the end
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimLeft(b.String()[:kept], " \t")
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			b.WriteByte(c)
			continue
		default:
			b.WriteByte(c)
		}
		kept = b.Len()
	}
	return strings.TrimLeft(b.String()[:kept], " \t")
}
