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

const (
	jarvisDir  = "agents"
	jarvisFile = "agent.md"
	claudeDir  = ".claude/agents"
	// maxEntries bounds the names that are looked at in one directory, and with them the files.
	maxEntries = 512
)

// Set is all agents of a project.
type Set struct {
	agents   map[string]*Agent
	Problems []error // of files that describe no agent, each a *Problem or with the path in its text
}

// form is one way to describe an agent.
type form struct {
	keys  map[string]reader
	fresh func() *Agent
	// missing is the error of a file without front matter, in its system's words.
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

// Read reads the files of a project once. A directory that is not there holds no agents; one that cannot be read is an error.
func Read(project *os.Root, lookup Lookup) (*Set, error) {
	s := &Set{agents: map[string]*Agent{}}
	var all []*Agent
	for _, dir := range []string{jarvisDir, claudeDir} {
		read := s.claudeFiles
		if dir == jarvisDir {
			read = s.jarvisFiles
		}
		found, err := read(project, lookup)
		if err != nil {
			return nil, fmt.Errorf("read the agents of %s: %w", dir, err)
		}
		all = append(all, found...)
	}
	s.keep(all)
	return s, nil
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

// Names are the agents that can be asked for, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.agents)) }

// Get is the agent of a name, for a caller that may use it. The caller is what the server itself knows of its parent.
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

func (s *Set) jarvisFiles(project *os.Root, lookup Lookup) ([]*Agent, error) {
	dir, entries, err := list(project, jarvisDir)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	var all []*Agent
	for _, entry := range entries {
		if entry.Name() == mainAgent || entry.Type().IsRegular() {
			continue
		}
		all = s.add(all, dir, path.Join(entry.Name(), jarvisFile), jarvisDir, jarvis, lookup)
	}
	return all, nil
}

func (s *Set) claudeFiles(project *os.Root, lookup Lookup) ([]*Agent, error) {
	dir, entries, err := list(project, claudeDir)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	var all []*Agent
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".md") && !entry.IsDir() {
			all = s.add(all, dir, entry.Name(), claudeDir, claude, lookup)
		}
	}
	return all, nil
}

// add reads one file; a directory without one describes nothing.
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

// list is a directory of the project and its names, sorted; nil when there is none.
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

// read makes an Agent of a file's bytes, or says all that is wrong with them.
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
