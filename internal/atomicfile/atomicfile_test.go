package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	// A killed writer left a draft that is longer than the file will be, and readable for all.
	if err := os.WriteFile(path+".new", []byte("a draft that was left"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "2nd"} {
		if err := Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("it holds %q, %v; want %q", got, err, text)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
	}
	onlyFile(t, path)
}

// TestAWriteThatFails leaves the file as it was, and no draft.
func TestAWriteThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be renamed over a directory
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o600); err == nil {
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
	if err := os.Symlink(victim, path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o600); err == nil {
		t.Error("a link was followed")
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "as it was" {
		t.Errorf("what the link leads to holds %q, %v", got, err)
	}
}

func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("in its directory are %v, %v", entries, err)
	}
}
