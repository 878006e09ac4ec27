package outbox

import (
	"os"
	"path/filepath"

	"torno/delegation"
)

// places are asked for in a tree that holds the second parent's outbox, is allowed as a whole, and has a second name: that
// is the operator's mistake.
var places = []attempt{
	inTree("P6", "the outbox", delegation.CodeWorkspace, "tree/box"),
	inTree("P6", "what holds the outbox", delegation.CodeWorkspace, "tree"),
	inTree("P6", "the outbox as context", delegation.CodeContext, "tree/box"),
	ofAnother(inTree("P6", "another parent's outbox", delegation.CodeWorkspace, "tree/box")),
	inTree("P9", "a root in a root", delegation.CodeWorkspace, "tree/nested"),
	inTree("P9", "a place in one that is for reading", delegation.CodeWorkspace, "tree/shelf/x"),
	inTree("P9", "a place that holds one that is for reading", delegation.CodeWorkspace, "tree/deep"),
	inTree("P16", "the outbox by its second name", delegation.CodeWorkspace, "alias/box"),
	inTree("P16", "the outbox as context by its second name", delegation.CodeContext, "alias/box"),
}

// inTree is a request of the second parent.
func inTree(row, name string, code delegation.Code, place string) attempt {
	at := func(s *scene) string { return s.Mkdir(filepath.Join(s.c.base, place)) }
	a := refusedPath(row, name, code, at, nil)
	a.plant = func(s *scene) {
		s.Outbox = s.c.second
		said := a.say(s)
		if code == delegation.CodeContext {
			said["workspace"] = s.Mkdir(filepath.Join(s.c.base, "tree", s.id))
		}
		s.submit(said)
	}
	a.naive = func(s *scene) bool { // there is such a directory, and it is below an allowed root
		info, err := os.Stat(at(s))
		return err == nil && info.IsDir() && passesClean(at(s), filepath.Join(s.c.base, "tree"), filepath.Join(s.c.base, "alias"))
	}
	return a
}

// ofAnother is the same request of the first parent.
func ofAnother(a attempt) attempt {
	a.plant = nil
	return a
}
