package patch

import (
	"os"
	"strings"
	"testing"
)

const edited = "the parent's own\n"

// cutOff has an apply to a directory killed when it has exchanged "f", which the parent has saved just before.
func (s *scene) cutOff(dir string) {
	s.Helper()
	plan, err := s.take(Selection{}).Plan(s.Context(), dir, s.open(dir))
	s.must(err)
	saved := false
	plan.to.at = func() {
		switch {
		case saved:
			panic(killed{})
		case len(s.beside(dir)) > 0 && strings.Contains(s.beside(dir)[0], "-kept-"):
			write(s, dir+"/f", edited)
			saved = true
		}
	}
	defer func() {
		if _, ok := recover().(killed); !ok {
			s.Fatal("it was not killed")
		}
	}()
	_, err = plan.Apply(s.Context())
	s.must(err)
}

// TestMarkersOfTwoDirectories: an apply to one directory neither forgets nor touches what one to another has left.
func TestMarkersOfTwoDirectories(t *testing.T) {
	s := newScene(t, map[string]string{"f": "1\n"})
	write(t, s.child("f"), "child's\n")
	other := s.dir + "/other"
	write(t, other+"/f", "1\n")
	s.cutOff(s.origin)
	work := s.take(Selection{})
	if cut, err := work.Interrupted(t.Context(), other, s.open(other)); err != nil || cut != nil {
		t.Errorf("of another directory it says %+v, %v", cut, err)
	}
	plan, err := work.Plan(t.Context(), other, s.open(other))
	s.must(err)
	_, err = plan.Apply(t.Context())
	s.must(err)
	if len(s.beside(s.origin)) != 1 {
		t.Fatalf("there is %q", listing(t, s.origin))
	}
	cut, err := s.take(Selection{}).Interrupted(t.Context(), s.origin, s.open(s.origin))
	s.must(err)
	if len(cut.PutBack) != 1 || cut.PutBack[0].Path != "f" || s.has(s.ours("f")) != edited || len(s.beside(s.origin)) > 0 {
		t.Errorf("it says %+v, there is %q", cut, listing(t, s.origin))
	}
}

// TestAnApplyElsewhere takes nothing from the directory that was copied: all of the child's work is still to be taken there.
func TestAnApplyElsewhere(t *testing.T) {
	s := newScene(t, map[string]string{"f": "1\n"})
	write(t, s.child("f"), "child's\n")
	other := s.dir + "/other"
	write(t, other+"/f", "1\n")
	for _, dir := range []string{other, s.origin} {
		plan, err := s.take(Selection{}).Plan(t.Context(), dir, s.open(dir))
		s.must(err)
		if done, err := plan.Apply(t.Context()); done != 1 || err != nil {
			t.Errorf("of %s it says %d, %v", dir, done, err)
		}
	}
	if got := s.has(s.ours("f")); got != "child's\n" {
		t.Errorf("there is %q", got)
	}
}

// TestAnotherChildsApplyInBetween: another child's apply to the same directory leaves alone what the first one's has
// left.
func TestAnotherChildsApplyInBetween(t *testing.T) {
	s := newScene(t, map[string]string{"f": "1\n"})
	write(t, s.child("f"), "child's\n")
	s.cutOff(s.origin)
	second := s.dir + "/outbox/workspaces/s2"
	s.must(os.Mkdir(second, 0o755))
	_, err := s.store.Copy(t.Context(), s.origin, Destination{
		Subagent: "s2", Path: second, Root: s.open(second), UID: os.Getuid(), GID: os.Getgid(),
	}, How{Limits: DefaultLimits})
	s.must(err)
	write(t, second+"/f", "the second child's\n")
	work, err := s.store.Take(t.Context(), "s2", s.open(second), Selection{})
	s.must(err)
	t.Cleanup(func() { work.Close() })
	if cut, err := work.Interrupted(t.Context(), s.origin, s.open(s.origin)); cut != nil || err != nil {
		t.Errorf("of another child's it says %+v, %v", cut, err)
	}
	plan, err := work.Plan(t.Context(), s.origin, s.open(s.origin))
	s.must(err)
	_, err = plan.Apply(t.Context())
	s.must(err)
	cut, err := s.take(Selection{}).Interrupted(t.Context(), s.origin, s.open(s.origin))
	s.must(err)
	if s.has(s.ours("f")) != "the second child's\n" || len(cut.Kept) != 1 || !strings.Contains(cut.Kept[0].Why, `"f"`) ||
		s.has(s.ours(cut.Kept[0].Path)) != edited {
		t.Errorf("it says %+v, there is %q", cut, listing(t, s.origin))
	}
}

// TestNamesOfWhatIsTakenOut: the name under which a file is kept says which one it was, and fits into a directory.
func TestNamesOfWhatIsTakenOut(t *testing.T) {
	long := strings.Repeat("ä", 127)
	for p, begins := range map[string]string{"a/main.go": "main.go.torno-kept-", long: long[:100] + ".torno-kept-"} {
		if name := outName(p, "id"); !strings.HasPrefix(name, begins) || len(name) > 143 {
			t.Errorf("%q: %q", p, name)
		}
	}
	if outName(long+"1", "id") == outName(long+"2", "id") || outName("a", "1") == outName("a", "2") {
		t.Error("two files have one name")
	}
}
