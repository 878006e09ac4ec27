package agentfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/beneath"
)

// maxEntries bounds the names that are looked at in one directory, and so the number of files.
const maxEntries = 512

// Set holds all agents of a project and its user.
type Set struct {
	agents   map[string]*Agent
	Problems []error // for files that describe no agent; each is a *Problem or names the path
}

// form is a way to describe an agent.
type form struct {
	keys  map[string]reader
	fresh func() *Agent
	// missing is the error for a file without front matter, in the words of the system that has this form.
	missing string
}

var (
	jarvis = form{keys: jarvisKeys, missing: "Invalid agent.md format (missing frontmatter): %s", fresh: func() *Agent {
		return &Agent{Permissions: Permissions{Allow: []string{}}}
	}}
	claude = form{keys: claudeKeys, missing: "Invalid agent file format (missing frontmatter): %s", fresh: func() *Agent {
		return &Agent{}
	}}
)

// place is a directory with files that describe agents.
type place struct {
	root  *os.Root
	dir   string // below the root
	shown string // the directory's name in the paths that people see
	read  func(*Set, *os.Root, string, []fs.DirEntry, Lookup) []*Agent
}

// Read reads the files of a project once, and those of a user. user is that user's Claude Code directory (~/.claude);
// it may be nil. A missing directory holds no agents; an unreadable directory is an error.
func Read(project, user *os.Root, lookup Lookup) (*Set, error) {
	places := []place{
		{project, "agents", "agents", (*Set).jarvisFiles},
		{project, ".claude/agents", ".claude/agents", (*Set).claudeFiles},
	}
	if user != nil {
		places = append(places, place{user, "agents", "~/.claude/agents", (*Set).claudeFiles})
	}
	s := &Set{agents: map[string]*Agent{}}
	var all []*Agent
	var seen []os.FileInfo
	for _, p := range places {
		dir, entries, err := list(p.root, p.dir)
		if err == nil && dir != nil {
			var twice bool
			if seen, twice, err = once(seen, dir); err == nil && !twice {
				all = append(all, p.read(s, dir, p.shown, entries, lookup)...)
			}
			dir.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("read the agents of %s: %w", p.shown, err)
		}
	}
	s.keep(all)
	return s, nil
}

// once reports whether a directory was read before: a user's home may be the project.
func once(seen []os.FileInfo, dir *os.Root) ([]os.FileInfo, bool, error) {
	info, err := dir.Stat(".")
	if err != nil {
		return seen, false, err
	}
	twice := slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) })
	return append(seen, info), twice, nil
}

// keep takes each agent whose name no other file has.
func (s *Set) keep(all []*Agent) {
	paths := map[string][]string{}
	for _, a := range all {
		paths[a.Name] = append(paths[a.Name], a.Path)
		s.agents[a.Name] = a
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if files := paths[name]; len(files) > 1 {
			delete(s.agents, name)
			s.Problems = append(s.Problems, fmt.Errorf("agent %s is described by %s; none of them is served until all but one have another name",
				quote(name), strings.Join(files, " and ")))
		}
	}
}

// Names returns the names of the agents that can be asked for, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.agents)) }

// For returns the agents that a caller may use, sorted by name.
func (s *Set) For(caller string) (all []*Agent) {
	for _, name := range s.Names() {
		if slices.Contains(s.agents[name].AllowedCallers, caller) {
			all = append(all, s.agents[name])
		}
	}
	return all
}

// Agent returns the agent with a name, whoever may call it, or nil if there is none.
func (s *Set) Agent(name string) *Agent { return s.agents[name] }

// Get returns the agent with a name, if the caller may use it. The caller is the server's own knowledge about its
// parent.
func (s *Set) Get(name, caller string) (*Agent, error) {
	a, ok := s.agents[name]
	if !ok {
		return nil, &UnknownAgentError{Name: name, Known: s.Names()}
	}
	if !slices.Contains(a.AllowedCallers, caller) {
		return nil, &CallerError{Agent: name, Caller: caller}
	}
	return a, nil
}

func (s *Set) jarvisFiles(dir *os.Root, shown string, entries []fs.DirEntry, lookup Lookup) (all []*Agent) {
	for _, entry := range entries {
		if entry.Name() == mainAgent || entry.Type().IsRegular() {
			continue
		}
		before := len(all)
		all = s.add(all, dir, path.Join(entry.Name(), "agent.md"), shown, jarvis, lookup)
		if len(all) == before {
			continue
		}
		if err := all[before].takeOwn(dir, entry.Name()); err != nil {
			s.Problems = append(s.Problems, fmt.Errorf("%s is not served: %w", all[before].Path, err))
			all = all[:before]
		}
	}
	return all
}

func (s *Set) claudeFiles(dir *os.Root, shown string, entries []fs.DirEntry, lookup Lookup) (all []*Agent) {
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".md") && !entry.IsDir() {
			all = s.add(all, dir, entry.Name(), shown, claude, lookup)
		}
	}
	return all
}

// add reads one file. A directory without such a file describes nothing.
func (s *Set) add(all []*Agent, dir *os.Root, name, below string, f form, lookup Lookup) []*Agent {
	at := plain(path.Join(below, name))
	text, more, err := beneath.ReadFile(dir, name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all
	case err != nil:
		s.Problems = append(s.Problems, fmt.Errorf("%s cannot be read: %w", at, err))
		return all
	case more:
		s.Problems = append(s.Problems, fmt.Errorf("%s is larger than %d KiB", at, maxFile>>10))
		return all
	}
	a, problems := read(at, text, f, lookup)
	s.Problems = append(s.Problems, problems...)
	if a == nil {
		return all
	}
	return append(all, a)
}

// list opens a directory of the project and returns its entries, sorted by name. It returns nil if there is no such
// directory.
func list(project *os.Root, name string) (*os.Root, []fs.DirEntry, error) {
	dir, err := beneath.Dir(project, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	entries, err := names(dir)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, entries, nil
}

func names(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("it has more than %d entries", maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// read makes an Agent from a file's bytes, or returns everything that is wrong with them.
func read(at string, text []byte, f form, lookup Lookup) (*Agent, []error) {
	top, prompt, err := split(text)
	if errors.Is(err, errNoFrontMatter) {
		return nil, []error{&Problem{Path: at, Text: fmt.Sprintf(f.missing, at)}}
	}
	if err != nil {
		return nil, []error{&Problem{Path: at, Text: at + " " + err.Error()}}
	}
	r := &reading{agent: f.fresh(), lookup: lookup}
	r.agent.Path, r.agent.Prompt, r.agent.Timeout = at, prompt, DefaultTimeout
	r.agent.AllowedCallers = []string{mainAgent}
	for _, field := range []string{"name", "description"} {
		if !has(top, field) {
			r.whole("Missing required field %q in %s", field, at)
		}
	}
	r.mapping("", top, f.keys)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.agent, nil
}

func has(top *yaml.Node, key string) bool {
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value == key {
			return true
		}
	}
	return false
}
