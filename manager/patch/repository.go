package patch

import (
	"path"
)

// repositoryFault says why nothing is taken over from a git directory with an ordinary name, such as a bare repository
// or the directory that git init --separate-git-dir makes. Git obeys the configuration and the hooks there as it does
// those in .git.
const repositoryFault = "it lies in a git directory, or would make one"

// isRepository reports whether git may take a directory with these names in it for a git directory.
func isRepository(names []string) bool {
	parts := map[string]bool{}
	for _, name := range names {
		if part := repositoryPart(name); part != "" {
			parts[part] = true
		}
	}
	return parts["head"] && (parts["commondir"] || parts["objects"] && parts["refs"])
}

// repositoryPart returns the folded name if git knows a git directory by it, otherwise "".
func repositoryPart(name string) string {
	switch part := fold(name); part {
	case "head", "commondir", "objects", "refs":
		return part
	}
	return ""
}

// repositories remembers which directories of a target are git directories under ordinary names, as far as anyone
// asked.
type repositories struct {
	in    target
	known map[string]bool
}

func repositoriesOf(t target) repositories { return repositories{t, map[string]bool{}} }

// fault returns why nothing may be written at a path, or "".
func (r repositories) fault(p string) (string, error) {
	for at := p; ; at = above(at) {
		is, known := r.known[at]
		if !known {
			names, err := r.in.names(at)
			if err != nil {
				return "", err
			}
			is = isRepository(names)
			r.known[at] = is
		}
		if is {
			return repositoryFault, nil
		}
		if at == "." {
			return "", nil
		}
	}
}

// wouldMake reports whether a path, or a directory on the way to it, would make a git directory together with what is in
// the target now.
func (r repositories) wouldMake(p string) (bool, error) {
	for at := p; at != "."; at = above(at) {
		if repositoryPart(path.Base(at)) == "" {
			continue
		}
		names, err := r.in.names(above(at))
		if err != nil || isRepository(append(names, path.Base(at))) {
			return err == nil, err
		}
	}
	return false, nil
}

// refuseRepositories refuses changes inside a git directory of the parent's, and changes that would make a git
// directory together with existing entries.
func (w *Work) refuseRepositories(r repositories) error {
	parts := map[string][]*Change{} // by the directory
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.Refused != "" {
			continue
		}
		fault, err := r.fault(c.Path)
		if err != nil {
			return err
		}
		c.Refused = fault
		if c.After != nil && repositoryPart(path.Base(c.Path)) != "" {
			dir := above(c.Path)
			parts[dir] = append(parts[dir], c)
		}
	}
	for dir, some := range parts {
		names, err := r.in.names(dir)
		if err != nil {
			return err
		}
		for _, c := range some {
			names = append(names, path.Base(c.Path))
		}
		if !isRepository(names) {
			continue
		}
		for _, c := range some {
			c.Refused = repositoryFault
		}
	}
	return nil
}
