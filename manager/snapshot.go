package manager

import (
	"errors"
	"os"
	"path/filepath"

	"torno/internal/beneath"
)

// errStale says that an answer file is older than the run.
var errStale = errors.New("is of an earlier run")

// workspaceSnapshot holds the state of a run's workspace and of its answer file before the request was written. An
// honest host moves an earlier answer aside before the child starts. After a run that never got so far, or with a host
// that does not do this, the earlier answer is still there, and it is not this run's.
type workspaceSnapshot struct {
	workspace os.FileInfo // nil if it was not seen
	answer    os.FileInfo // nil if there was none
}

// snapshot looks at the workspace and the answer of a run. A field stays nil if its file cannot be seen now: findAnswer
// then compares nothing, and checks the file as it checks every answer.
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
	s.answer, _ = parent.Lstat(name) // nil on an error, as if there were none
	return s
}

// hasSameAnswer reports whether a file is the answer of the snapshot, unchanged.
func (s workspaceSnapshot) hasSameAnswer(answer os.FileInfo) bool {
	was := s.answer
	return was != nil && os.SameFile(was, answer) && was.Size() == answer.Size() && was.ModTime().Equal(answer.ModTime())
}
