package patch

import (
	"context"
	"errors"
	"os"
	"testing"
)

// nth calls a function when it is asked for the nth time whether it has ended.
type nth struct {
	context.Context
	left *int
	call func()
}

func (n nth) Err() error {
	if *n.left--; *n.left == 0 {
		n.call()
	}
	return n.Context.Err()
}

// TestAWorkspaceThatIsRemovedDeletesNothing of the parent's, although the files that are not looked at yet are gone as if
// the child had deleted them. A host renames a workspace before it empties it.
func TestAWorkspaceThatIsRemovedDeletesNothing(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1\n", "b": "2\n", "c": "3\n"})
	aside, left, removed := s.dir+"/aside", 8, false
	ctx := nth{s.Context(), &left, func() {
		removed = true
		s.must(os.Rename(s.workspace, aside))
		for _, name := range []string{"a", "b", "c"} {
			s.must(os.Remove(aside + "/" + name))
		}
	}}
	work, err := s.store.Take(ctx, "s1", s.open(s.workspace), Selection{})
	if !removed || !errors.Is(err, ErrChanging) {
		t.Errorf("removed %v; the look at it says %v", removed, err)
	}
	if err == nil {
		t.Errorf("changes %v", work.Changes)
		work.Close()
	}
}

// TestAWorkspaceThatIsRemovedIsNotGotInPart: the host removes the workspace while Get copies, and Get says so.
func TestAWorkspaceThatIsRemovedIsNotGotInPart(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1\n", "b": "2\n"})
	to := s.dir + "/to"
	s.must(os.Mkdir(to, 0o755))
	got := 0
	_, err := Get(t.Context(), s.open(s.workspace), Selection{}, Place{Root: s.open(to)}, Getting{}, func(Got) error {
		if got++; got == 1 {
			s.must(os.Rename(s.workspace, s.dir+"/aside"))
			s.must(os.Remove(s.dir + "/aside/b"))
		}
		return nil
	})
	if got != 1 || !errors.Is(err, ErrChanging) {
		t.Errorf("%d files were got: %v", got, err)
	}
}

// TestAMergeIsDoneOnce: the child adds a line like another one and the parent changes the line above, so that a second
// comparison finds the added line at another place.
func TestAMergeIsDoneOnce(t *testing.T) {
	s := newScene(t, map[string]string{"f": "import os\ntotal = 1\nadd(total)\nshow(total)\n"})
	write(t, s.child("f"), "import os\ntotal = 1\nadd(total)\nadd(total)\nshow(total)\n")
	const mine = "import os\ntotal = 5\nadd(total)\nshow(total)\n"
	elsewhere := s.dir + "/elsewhere"
	write(t, elsewhere+"/f", mine)
	var first string
	for i := range 3 {
		plan, err := s.take(Selection{}).Plan(s.Context(), elsewhere, s.open(elsewhere))
		s.must(err)
		if plan.Fits() {
			_, err = plan.Apply(s.Context())
			s.must(err)
		}
		now := read(t, elsewhere+"/f")
		if i == 0 {
			first = now
		} else if now != first {
			t.Errorf("time %d: %q", i+1, now)
		}
	}
}
