package patch

import (
	"errors"
	"os"
	"testing"
)

// The base belongs to a workspace, not to its path: a new one there was given nothing, and so nothing of it counts as deleted.
func TestAnotherWorkspaceHasNoBase(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1", "b/c": "2"})
	s.must(os.Rename(s.workspace, s.workspace+".was")) // so that its inode is not given again
	s.must(os.Mkdir(s.workspace, 0o755))
	work, err := s.store.Take(t.Context(), "s1", s.open(s.workspace), Selection{})
	if err == nil {
		t.Errorf("it would take %+v", work.Changes)
		s.must(work.Close())
	} else if !errors.Is(err, ErrNoBase) {
		t.Error(err)
	}
	s.must(Forget(s.dir+"/state", s.dir+"/outbox", "s1"))
	if _, err := s.store.Base("s1"); !errors.Is(err, ErrNoBase) {
		t.Error(err)
	}
}

// A plan counts what it deletes, against what the child was given.
func TestAPlanCountsItsDeletions(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1", "b/c": "2", "d": "3"})
	s.must(os.Remove(s.child("a")))
	s.must(os.RemoveAll(s.child("b")))
	if gone, of := s.plan().Deletes(); gone != 2 || of != 3 {
		t.Errorf("%d of %d", gone, of)
	}
}
