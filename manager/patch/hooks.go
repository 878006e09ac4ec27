package patch

// hooks are what the parent's git runs of the tree.
type hooks struct {
	paths map[string]string // folded, and as what they run; a directory stands for all in it
	known map[string]string // of links, what reads them
	blind bool              // something of git's could not be read, so any program may be a hook
}

// blindly is what runs a program where the hooks are not known.
const blindly = "perhaps git: its hooks could not be read"

// at says what runs a path, or all that is in a directory above it.
func (h hooks) at(p string) string {
	for at := p; ; at = above(at) {
		if what := h.paths[at]; what != "" || at == "." {
			return what
		}
	}
}

// below says what runs something below a path.
func (h hooks) below(p string) string {
	for at, what := range h.paths {
		if within(at, p) {
			return what
		}
	}
	return ""
}

// of says what runs a change, if it is a hook by one of its names.
func (h hooks) of(w *Work, c *Change) string {
	if !c.ofContent() {
		return ""
	}
	if h.blind && (c.ofLink() || c.isProgram()) {
		return blindly
	}
	return w.names.of(fold(c.Path), c.ofLink(), reader{h.at, h.below, h.known})
}

// isProgram says whether the path was or will be a file that can be executed.
func (c *Change) isProgram() bool {
	return c.Before != nil && c.Before.Exec || c.After != nil && c.After.Exec
}
