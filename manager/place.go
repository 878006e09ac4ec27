package manager

import (
	"errors"
	"os"
	"path/filepath"
)

// errStale is an answer file that was there before the run was.
var errStale = errors.New("is of an earlier run")

// place is what lay where a run works when it was asked for. An honest host moves an earlier answer aside before the
// child starts; a run that never got so far, or a host that does not know this, leaves it, and it is not this run's.
type place struct {
	workspace os.FileInfo // nil when it was not seen
	answer    os.FileInfo // nil when there was none
}

// place looks at the workspace and the answer of a run. What cannot be looked at cannot be compared later, and is judged
// when it is read.
func (r *Run) place() (p place) {
	workspace, err := r.m.openWorkspace(r.workspace)
	if err != nil {
		return p
	}
	defer workspace.Close()
	if p.workspace, err = workspace.Stat("."); err != nil || r.answer == "" {
		return p
	}
	dir, name := filepath.Split(r.answer)
	parent, err := descend(workspace, dir)
	if err != nil {
		return p
	}
	defer parent.Close()
	p.answer, _ = parent.Lstat(name) // nil says that there is none
	return p
}

// holds says whether a file is the answer that was there before, untouched.
func (p place) holds(answer os.FileInfo) bool {
	was := p.answer
	return was != nil && os.SameFile(was, answer) && was.Size() == answer.Size() && was.ModTime().Equal(answer.ModTime())
}
