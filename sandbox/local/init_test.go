package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitIsStoredWhole: once for each content, and again where the file was changed. What a killed start left goes.
func TestInitIsStoredWhole(t *testing.T) {
	dir, program := t.TempDir(), filepath.Join(t.TempDir(), "built")
	store := func(content string) string {
		t.Helper()
		if err := os.WriteFile(program, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		stored, err := StoreInit(program, dir)
		if err != nil {
			t.Fatal(err)
		}
		place := filepath.Join(stored, "sandbox-init")
		got, err := os.ReadFile(place)
		info, statErr := os.Stat(place)
		if err != nil || statErr != nil || string(got) != content || info.Mode() != 0o555 {
			t.Errorf("stored is %q with mode %v, %v", got, info.Mode(), err)
		}
		return stored
	}
	if err := os.WriteFile(filepath.Join(dir, ".init-next"), nil, 0o555); err != nil { // a start that was killed left it
		t.Fatal(err)
	}
	one := store("one")
	running, err := os.Open(filepath.Join(one, "sandbox-init"))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if two := store("two"); two == one {
		t.Error("two programs are in one place")
	}
	if store("one") != one || !same(t, running, one) {
		t.Error("a program that was there was put there again")
	}
	if err := os.Chmod(filepath.Join(one, "sandbox-init"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one, "sandbox-init"), []byte("o"), 0); err != nil {
		t.Fatal(err)
	}
	if store("one") != one || same(t, running, one) {
		t.Error("what runs was written to")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 || !strings.HasPrefix(entries[0].Name(), "init-") {
		t.Errorf("there are %v", entries)
	}
	if _, err := StoreInit(filepath.Join(dir, "none"), dir); err == nil {
		t.Error("nothing was stored")
	}
}

// same says whether the stored program is the open one.
func same(t *testing.T, open *os.File, stored string) bool {
	t.Helper()
	a, err := open.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.Stat(filepath.Join(stored, "sandbox-init"))
	return err == nil && os.SameFile(a, b)
}
