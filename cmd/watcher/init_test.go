package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/cli"
	"torno/sandbox/launchers"
)

// TestAConfigurationReplacesNothing (H23): neither a file nor what a link leads to, and only a word replaces the name itself.
func TestAConfigurationReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	victim, link, fresh := filepath.Join(dir, "victim"), filepath.Join(dir, "link"), filepath.Join(dir, "fresh")
	if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{victim, link} {
		if err := placeFile(path, []byte("ours"), 0o644, false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := errors.Join(placeFile(fresh, []byte("ours"), 0o644, false), placeFile(link, []byte("ours"), 0o644, true)); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "mine" {
		t.Errorf("the victim holds %q", text)
	}
	for _, path := range []string{fresh, link} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestInitAsks: --yes is no word for what is there already, and without a terminal nothing is written unasked.
func TestInitAsks(t *testing.T) {
	dir := t.TempDir()
	there, fresh := filepath.Join(dir, "there"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newApp(launchers.All)
	nothing := func(string) string { return "" }
	a.In, a.Errors = strings.NewReader("y\n"), cli.NewOutput(&strings.Builder{}, nothing)
	for _, c := range []struct {
		o   initial
		may bool
	}{
		{initial{file: there, yes: true}, false},
		{initial{file: there, replace: true}, true},
		{initial{file: fresh}, false},
		{initial{file: fresh, yes: true}, true},
	} {
		if err := a.mayWrite(&c.o); (err == nil) != c.may {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
