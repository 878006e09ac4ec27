package logfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestBounded: however much is written, there are two files of at most the bound, and what came last is there.
func TestBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	line := append(bytes.Repeat([]byte("a"), 1<<20-1), '\n')
	for range 30 {
		if n, err := f.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := f.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		if info, err := os.Stat(name); err != nil || info.Size() > most || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(text, []byte("the end\n")) {
		t.Errorf("the last line is not there: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
		t.Errorf("there are %v, %v", left, err)
	}
}

// TestOpenedFull: a process that dies at each start fills no disk either.
func TestOpenedFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, make([]byte, most), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Handle().Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
