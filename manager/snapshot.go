package manager

import (
	"errors"
	"os"
	"path/filepath"

	"torno/internal/beneath"
)

// errStale is an answer file that was there before the run was.
var errStale = errors.New("is of an earlier run")

// workspaceSnapshot is a run's workspace, and the answer file in it, as they were before the request was written. An
// honest host moves an earlier answer aside before the child starts. After a run that never got so far, or with a host
// that does not do this, the earlier answer is still there, and it is not this run's.
type workspaceSnapshot struct {
	workspace os.FileInfo // nil when it was not seen
	answer    os.FileInfo // nil when there was none
}

// snapshot looks at the workspace and the answer of a run. What cannot be seen now stays nil: findAnswer then compares
// nothing, and checks the file as it checks every answer.
func (r *Run) snapshot() (s workspaceSnapshot) {
	workspace, err := r.m.openWorkspace(r.workspace)
	if err != nil {
		return s
	}
	defer workspace.Close()
	if s.workspace, err = workspace.Stat("."); err != nil || r.answer == "" {
		return s
	}
	dir, name := filepath.Split(r.answer)
	parent, err := beneath.Dir(workspace, dir)
	if err != nil {
		return s
	}
	defer parent.Close()
	s.answer, _ = parent.Lstat(name) // on an error nil, as if there were none
	return s
}

// hasSameAnswer says whether a file is the answer of the snapshot, untouched.
func (s workspaceSnapshot) hasSameAnswer(answer os.FileInfo) bool {
	was := s.answer
	return was != nil && os.SameFile(was, answer) && was.Size() == answer.Size() && was.ModTime().Equal(answer.ModTime())
}
