package patch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

// TestWhatAHostGaveIsNoChange: the child was given a link that leads out, and left it. A link that the child has led elsewhere is refused.
func TestWhatAHostGaveIsNoChange(t *testing.T) {
	top := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"origin", "given", "work", "outbox"} {
		must(os.Mkdir(at(dir), 0o755))
	}
	for _, dir := range []string{"origin", "given", "work"} {
		must(errors.Join(os.Symlink("/etc/hostname", at(dir, "same")), os.Symlink("/etc/hostname", at(dir, "other")), os.WriteFile(at(dir, "text"), []byte("one\n"), 0o644)))
	}
	must(errors.Join(os.Remove(at("work", "other")), os.Symlink("/etc/passwd", at("work", "other")), os.WriteFile(at("work", "text"), []byte("two\n"), 0o644)))
	store, err := OpenStore(at("state"), at("outbox"))
	must(err)
	defer store.Close()
	given, err := os.OpenRoot(at("given"))
	must(err)
	defer given.Close()
	work, err := os.OpenRoot(at("work"))
	must(err)
	defer work.Close()
	must(store.Note(t.Context(), given, at("origin"), Destination{Subagent: "s1", Path: at("work"), Root: work}, DefaultLimits))
	base, err := store.Base("s1")
	must(err)
	for dir, want := range map[*os.Root]bool{work: true, given: false} {
		if is, err := base.isOf(dir); err != nil || is != want {
			t.Errorf("the base is of %s: %v, %v", dir.Name(), is, err)
		}
	}
	taken, err := store.Take(t.Context(), "s1", work, Selection{})
	must(err)
	defer taken.Close()
	refused := map[string]bool{}
	for _, c := range taken.Changes {
		refused[c.Path] = c.Refused != ""
	}
	if len(refused) != 2 || !refused["other"] || refused["text"] {
		t.Errorf("the changes, and which are refused: %v", refused)
	}
}

// TestAHostGivesMoreThanOneLookReads: a file without content on the disk may say that it has terabytes. What the child has made of the others is
// still known, and taken over without it.
func TestAHostGivesMoreThanOneLookReads(t *testing.T) {
	top := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("outbox"), 0o755))
	for _, dir := range []string{"origin", "given", "work"} {
		must(errors.Join(os.Mkdir(at(dir), 0o755), os.WriteFile(at(dir, "sparse"), nil, 0o644), os.Truncate(at(dir, "sparse"), 1<<40)))
		must(os.WriteFile(at(dir, "text"), []byte("one\n"), 0o644))
	}
	must(os.WriteFile(at("work", "text"), []byte("two\n"), 0o644))
	store, err := OpenStore(at("state"), at("outbox"))
	must(err)
	defer store.Close()
	given, err := os.OpenRoot(at("given"))
	must(err)
	defer given.Close()
	work, err := os.OpenRoot(at("work"))
	must(err)
	defer work.Close()
	must(store.Note(t.Context(), given, at("origin"), Destination{Subagent: "s1", Path: at("work"), Root: work}, NoteLimits))
	whole, err := store.Take(t.Context(), "s1", work, Selection{})
	must(err)
	defer whole.Close()
	if len(whole.Changes) != 2 || whole.Changes[0].Path != "sparse" || whole.Changes[0].Refused == "" || whole.Changes[1].Refused != "" {
		t.Errorf("the changes are %+v", whole.Changes)
	}
	pick, err := Select(nil, []string{"sparse"})
	must(err)
	some, err := store.Take(t.Context(), "s1", work, pick)
	must(err)
	defer some.Close()
	if len(some.Changes) != 1 || some.Changes[0].Path != "text" || some.Changes[0].Refused != "" {
		t.Errorf("without it the changes are %+v", some.Changes)
	}
}

// looking acts as a host. When a client first asks it for a base, it calls meanwhile.
type looking struct {
	dir       string
	meanwhile func()
	looks     int
}

func (l *looking) OpenBase(string) (*os.Root, error) {
	if l.looks++; l.looks == 1 {
		l.meanwhile()
	}
	return os.OpenRoot(l.dir)
}
func (l *looking) OriginOf(string) string { return l.dir }
func (*looking) AnswerOf(string) string   { return "answer.txt" }

// TestOneClientRecordsWhatAHostGave: two clients that wrote the record at once would damage it, and nothing would repair it.
func TestOneClientRecordsWhatAHostGave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, map[string]string{"a": "a\n"})
		s.must(s.store.Drop("s1"))
		host := &looking{dir: s.origin}
		look := func(ctx context.Context) error {
			return s.store.NoteGiven(ctx, host, "s1", s.workspace, s.open(s.workspace))
		}
		second := make(chan error, 1)
		host.meanwhile = func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // it does not wait for the first
			if err := look(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			go func() { second <- look(t.Context()) }()
			synctest.Wait() // it waits for the first
		}
		s.must(look(t.Context()))
		s.must(<-second)
		s.must(look(t.Context()))
		if host.looks != 1 {
			t.Errorf("%d clients wrote the record", host.looks)
		}
	})
}
