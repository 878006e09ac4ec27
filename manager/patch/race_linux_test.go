package patch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/swap"

	"torno/internal/beneath"
	"torno/test/attack"
)

const (
	parentsKey = "the parent's key"
	childsOwn  = "the child's own!" // as long as that, so that no size gives it away
)

// racedScene is a workspace in which a directory is exchanged for a link to the parent's, and a file for a link to a secret,
// as long as the test runs. The links lie in the same workspace, as a child's would.
func racedScene(t *testing.T) *scene {
	s := newScene(t, map[string]string{"sub/deep/key": "old", "key": "old"})
	write(t, s.dir+"/parents/deep/key", parentsKey)
	write(t, s.child("sub/deep/key"), childsOwn)
	write(t, s.child("key"), childsOwn)
	s.must(os.Symlink(s.dir+"/parents", s.child("sub.lie")))
	s.must(os.Symlink(s.dir+"/parents/deep/key", s.child("key.lie")))
	swap.Names(t, [2]string{s.child("sub"), s.child("sub.lie")}, [2]string{s.child("key"), s.child("key.lie")})
	return s
}

// A child exchanges directories and files for links while its parent looks at them, copies them out and takes them over.
// What goes by names, and looks before it opens, is the oracle.
func TestExchangesLeadNoWalkOut(t *testing.T) {
	s := racedScene(t)
	pick, err := Select([]string{"sub", "key"}, nil)
	s.must(err)
	trial := attack.Trial{Row: "W19", Where: "manager/patch, one look after the other"}
	took := 0
	for limit := attack.Times(400, 40_000); trial.Tried < limit || !trial.Oracle && trial.Tried < 50*limit; trial.Tried++ {
		took += s.tryTake(pick)
		s.tryGet(pick)
		trial.Oracle = trial.Oracle || looksFirst(s.workspace, "sub/deep/key") == parentsKey
		trial.Held++
	}
	if took == 0 {
		t.Error("it never took the child's own: nothing was at stake")
	}
	attack.Record(t, trial)
}

// tryTake takes once and counts the child's own files that it got.
func (s *scene) tryTake(pick Selection) (took int) {
	s.Helper()
	root := s.openOnce()
	defer root.Close()
	work, err := s.store.Take(s.Context(), "s1", root, pick)
	if errors.Is(err, ErrChanging) {
		return 0
	}
	s.must(err)
	defer work.Close()
	for _, c := range work.Changes {
		text, ok, err := work.after(&c)
		s.must(err)
		if strings.Contains(string(text), parentsKey) {
			s.Fatalf("it took %q of the parent's", c.Path)
		}
		if ok && string(text) == childsOwn {
			took++
		}
	}
	return took
}

func (s *scene) tryGet(pick Selection) {
	s.Helper()
	root := s.openOnce()
	defer root.Close()
	to := s.dir + "/got"
	s.must(os.MkdirAll(to, 0o755))
	out, err := os.OpenRoot(to)
	s.must(err)
	defer out.Close()
	_, err = Get(s.Context(), root, pick, Place{Root: out}, Getting{Replace: true}, func(Got) error { return nil })
	if err != nil && !errors.Is(err, ErrChanging) {
		s.Fatal(err)
	}
	for path, content := range listing(s, to) {
		if strings.Contains(content, parentsKey) {
			s.Fatalf("it copied %q of the parent's", path)
		}
	}
}

func (s *scene) openOnce() *os.Root {
	s.Helper()
	root, err := os.OpenRoot(s.workspace)
	s.must(err)
	return root
}

// looksFirst reads a file if all on its way looks right, by name.
func looksFirst(dir, rel string) string {
	at := dir
	for name := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, name)
		if info, err := os.Lstat(at); err != nil || !info.IsDir() && beneath.CheckPlain(info) != nil {
			return ""
		}
	}
	text, _ := os.ReadFile(at) // nothing is nothing read
	return string(text)
}
