package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	// A killed writer left a draft that is longer than the file will be, and readable for all.
	if err := os.WriteFile(path+DraftSuffix, []byte("a draft that was left"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		mode  fs.FileMode
		flush Flush
	}{{"first", 0o600, Durable}, {"2nd", 0o444, Fast}, {"3", 0o600, Fast}} {
		if err := Write(path, []byte(c.text), c.mode, c.flush); err != nil {
			t.Fatal(err)
		}
		holds(t, path, c.text, c.mode)
	}
	onlyFile(t, path)
}

// TestAWriteThatFails: a failed write leaves the old entry, and no draft.
func TestAWriteThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be renamed over a directory
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o600, Durable); err == nil {
		t.Error("it was written over a directory")
	}
	onlyFile(t, path)
	root := open(t, filepath.Dir(path))
	if err := WriteIn(root, "file", []byte("text"), Durable); err == nil {
		t.Error("it was written over a directory")
	}
	onlyFile(t, path)
}

// TestADraftIsNoWayOut writes through no link that lies in the draft's place.
func TestADraftIsNoWayOut(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "file")
	if err := os.WriteFile(victim, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path+DraftSuffix); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o600, Fast); err != nil {
		t.Error(err)
	}
	holds(t, path, "text", 0o600)
	holds(t, victim, "as it was", 0o600)
}

// TestADraft has another name until it is put, and then that name alone.
func TestADraft(t *testing.T) {
	dir := t.TempDir()
	path, long := filepath.Join(dir, "file"), time.Unix(1e9, 0)
	for name, begin := range map[string]func() (*Draft, error){
		"by path":      func() (*Draft, error) { return Begin(dir) },
		"beneath root": func() (*Draft, error) { return BeginIn(open(t, filepath.Dir(dir)), filepath.Base(dir), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d, err := begin()
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.WriteString("text")
			if err = errors.Join(err, d.SetTime(long)); err != nil {
				t.Fatal(err)
			}
			if names := in(t, dir); len(names) != 1 || !strings.HasPrefix(names[0], DraftPrefix) {
				t.Errorf("before it is put: %v", names)
			}
			if err := errors.Join(d.PutNew("file", Durable), d.Drop()); err != nil {
				t.Error(err)
			}
			holds(t, path, "text", 0o600)
			if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(long) {
				t.Errorf("its time: %v", info.ModTime())
			}
			onlyFile(t, path)
			d, err = begin()
			if err != nil {
				t.Fatal(err)
			}
			if err := d.PutNew("file", Fast); !errors.Is(err, fs.ErrExist) {
				t.Errorf("it replaced a file: %v", err)
			}
			if err := errors.Join(d.Drop(), d.Drop()); err != nil {
				t.Error(err)
			}
			onlyFile(t, path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestManyWriters write one name at the same time. One of them wins, and no draft stays.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	root := open(t, dir)
	errs := make(chan error)
	for range 8 {
		go func() { errs <- WriteIn(root, "file", []byte("text"), Fast) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	holds(t, filepath.Join(dir, "file"), "text", 0o600)
	onlyFile(t, filepath.Join(dir, "file"))
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func holds(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
		t.Errorf("the mode of %s is %v, %v", path, info.Mode(), err)
	}
}

func onlyFile(t *testing.T, path string) {
	t.Helper()
	if names := in(t, filepath.Dir(path)); len(names) != 1 || names[0] != filepath.Base(path) {
		t.Errorf("in its directory are %v", names)
	}
}

func in(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
