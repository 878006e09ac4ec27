package patch

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// Two applies of one child's work: the second one neither loses what the first one took, nor removes what it writes.
func TestOneApplyAtATime(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1\n", "b": "2\n"})
	write(t, s.child("a"), "11\n")
	write(t, s.child("b"), "22\n")
	var plans []*Plan
	for _, part := range []string{"a", "b"} {
		plan, err := s.take(Selection{Paths: []string{part}}).Plan(t.Context(), s.origin, s.open(s.origin))
		s.must(err)
		plans = append(plans, plan)
	}
	lock, err := s.store.lock("s1") // as the first one has it while it is under way
	s.must(err)
	s.must(plans[0].begin("abc"))
	write(t, s.ours(".torno-abc"), "half of it")
	_, err = s.take(Selection{}).Interrupted(t.Context(), s.origin, s.open(s.origin))
	if !errors.Is(err, ErrBusy) || s.has(s.ours(".torno-abc")) != "half of it" {
		t.Errorf("%v: what the first one writes is %q", err, s.has(s.ours(".torno-abc")))
	}
	if _, err := plans[1].Apply(t.Context()); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	s.must(lock.Close())
	_, err = plans[0].Apply(t.Context())
	s.must(err)
	if _, err := os.Lstat(s.ours(".torno-abc")); err == nil {
		t.Error("what one left that had ended is still there")
	}
	if _, err := plans[1].Apply(t.Context()); !errors.Is(err, ErrChanging) || s.has(s.ours("b")) != "2\n" {
		t.Errorf("%v: there is %q", err, s.has(s.ours("b")))
	}
	s.apply()
	base, err := s.store.Base("s1")
	s.must(err)
	for path, text := range map[string]string{"a": "11\n", "b": "22\n"} {
		e := base.tree()[path]
		if kept, _, err := s.store.text(base, e.Digest); err != nil || string(kept) != text || !strings.Contains(s.has(s.ours(path)), text) {
			t.Errorf("the base has %q of %s: %v", kept, path, err)
		}
	}
}
