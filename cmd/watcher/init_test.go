package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// TestNoConfigurationLiesInItsOutbox: also where a link leads there, or it lies deeper.
func TestNoConfigurationLiesInItsOutbox(t *testing.T) {
	dir := t.TempDir()
	outbox, link := filepath.Join(dir, "outbox"), filepath.Join(dir, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(outbox, "deeper"), 0o700), os.Symlink(filepath.Join(outbox, "deeper"), link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, outbox string
		may          bool
	}{
		{filepath.Join(dir, "watcher.yaml"), outbox, true},
		{filepath.Join(dir, "watcher.yaml"), filepath.Join(dir, "to-be-made"), true},
		{filepath.Join(outbox, "watcher.yaml"), outbox, false},
		{filepath.Join(outbox, "deeper", "watcher.yaml"), outbox, false},
		{filepath.Join(link, "watcher.yaml"), outbox, false},
	} {
		if err := outsideOutbox(c.file, c.outbox); (err == nil) != c.may {
			t.Errorf("%s in the outbox %s: %v", c.file, c.outbox, err)
		}
	}
	if runtime.GOOS != "linux" {
		return // where there is no watcher, init says that first
	}
	a := newApp(launchers.All)
	a.Errors = cli.NewOutput(&strings.Builder{}, func(string) string { return "" })
	err := a.init(t.Context(), initial{dir: outbox, file: filepath.Join(link, "watcher.yaml"), state: filepath.Join(dir, "state"), yes: true})
	if err == nil || !strings.Contains(err.Error(), "would lie in the outbox") {
		t.Errorf("init says %v", err)
	}
}
