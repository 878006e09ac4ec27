package patch

import (
	"errors"
	"maps"
	"os"
	"testing"
)

// What an apply has done is on the disk before the base says so: else a loss of power would undo it for good.
func TestStepsAreOnTheDiskBeforeTheBase(t *testing.T) {
	s := newScene(t, map[string]string{"a/x": "1", "b/x": "1", "c/d/x": "1"})
	write(t, s.child("a/x"), "2")
	write(t, s.child("new/deep/x"), "2")
	s.must(os.RemoveAll(s.child("c/d")))
	before, err := s.store.Base("s1")
	s.must(err)
	plan := s.plan()
	flushed := map[string]bool{}
	plan.flush = func(dir string) error {
		flushed[dir] = true
		if now, err := s.store.Base("s1"); err != nil || now.read != before.read {
			t.Errorf("the base is another one already: %v", err)
		}
		return plan.to.flush(dir)
	}
	_, err = plan.Apply(t.Context())
	s.must(err)
	if want := map[string]bool{".": true, "a": true, "new": true, "new/deep": true, "c": true, "c/d": true}; !maps.Equal(flushed, want) {
		t.Errorf("flushed is %v", flushed)
	}
	// Where that fails the base does not say it.
	write(t, s.child("b/x"), "2")
	plan = s.plan()
	failed := errors.New("failed")
	plan.flush = func(string) error { return failed }
	if _, err := plan.Apply(t.Context()); !errors.Is(err, failed) {
		t.Error(err)
	}
	base, err := s.store.Base("s1")
	s.must(err)
	if base.tree()["b/x"].Digest != digestOf([]byte("1")) {
		t.Error("the base says that it was written")
	}
}

// The bound of a base's texts is one of all applies together.
func TestTheTextsOfABaseAreBounded(t *testing.T) {
	s := newScene(t, map[string]string{"a": "12345"})
	base, err := s.store.Base("s1")
	s.must(err)
	if base.TextSize != 5 {
		t.Errorf("the size is %d", base.TextSize)
	}
	base.TextSize = maxAllTexts - 1
	texts, err := s.store.appendTexts(base)
	s.must(err)
	s.must(texts.add(digestOf([]byte("xy")), []byte("xy")))
	s.must(texts.add(digestOf([]byte("x")), []byte("x")))
	s.must(texts.close())
	if len(base.Texts) != 2 {
		t.Errorf("kept are %v", base.Texts)
	}
}

// A base that is too long is neither read nor written.
func TestABaseIsBounded(t *testing.T) {
	s := newScene(t, nil)
	s.must(os.Truncate(s.dir+"/state/subagents/"+s.storeName()+"/s1/"+baseName, maxBase+1))
	if _, err := s.store.Base("s1"); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
}

func (s *scene) storeName() string {
	s.Helper()
	entries, err := os.ReadDir(s.dir + "/state/subagents")
	s.must(err)
	return entries[0].Name()
}
