package carry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is %q, %v; want %q", path, got, err, want)
	}
}

// A directory comes with all that is below it, a file alone, each at its own path and with its time.
func TestAny(t *testing.T) {
	from, source := open(t, map[string]string{"src/a": "1", "src/deep/b": "2", "c": "3"})
	to, target := open(t, map[string]string{"src/a": "of before"})
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(source+"/c", at, at); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"src", "c"} {
		if _, err := Any(t.Context(), from, name, to, DefaultLimits); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, target+"/src/a", "1")
	holds(t, target+"/src/deep/b", "2")
	holds(t, target+"/c", "3")
	if info, err := os.Stat(target + "/c"); err != nil || !info.ModTime().Equal(at) {
		t.Error(info.ModTime(), err)
	}
	if entries, err := os.ReadDir(target); err != nil || len(entries) != 2 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// D22: a name that leads out of the workspace is none.
func TestNothingOutside(t *testing.T) {
	from, _ := open(t, nil)
	to, _ := open(t, nil)
	for _, name := range []string{"../x", "/etc/passwd", "a/../../x"} {
		if _, err := Any(t.Context(), from, name, to, DefaultLimits); err == nil {
			t.Errorf("%s was copied", name)
		}
		if err := Put(to, name, nil); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// Links, second names, sockets and pipes of a child are left out of a copy, and that is said.
func TestOnlyPlainFilesAreCopied(t *testing.T) {
	from, source := open(t, map[string]string{"plain": "x"})
	secret := filepath.Join(t.TempDir(), "secret")
	err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, source+"/link"), os.Link(secret, source+"/second"), syscall.Mkfifo(source+"/pipe", 0o600), os.Symlink("/", source+"/dir"))
	if err != nil {
		t.Fatal(err)
	}
	to, target := open(t, nil)
	copied, err := Tree(t.Context(), from, to, DefaultLimits)
	if err != nil || copied.Files != 1 || len(copied.Left) != 4 {
		t.Errorf("copied %+v, %v", copied, err)
	}
	holds(t, target+"/plain", "x")
	if entries, err := os.ReadDir(target); err != nil || len(entries) != 1 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// What a child has left where a file is to be written is neither followed nor written through.
func TestNothingIsWrittenThroughWhatIsThere(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	to, target := open(t, nil)
	err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(outside, target+"/dir"), os.Symlink(secret, target+"/link"), os.Link(secret, target+"/second"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Put(to, "dir/new", []byte("x")); err == nil {
		t.Error("a link was gone through")
	}
	for _, name := range []string{"link", "second"} {
		if err := Put(to, name, []byte("x")); err != nil {
			t.Error(err)
		}
		holds(t, filepath.Join(target, name), "x")
	}
	holds(t, secret, "secret")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
}

func TestACopyIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprint(i)] = strings.Repeat("x", 100)
	}
	from, _ := open(t, files)
	deep, _ := open(t, map[string]string{strings.Repeat("d/", 10) + "x": ""})
	for name, test := range map[string]struct {
		from   *os.Root
		limits Limits
	}{"files": {from, Limits{10, 1 << 20, 5}}, "bytes": {from, Limits{100, 1000, 5}}, "depth": {deep, Limits{100, 1000, 5}}} {
		to, _ := open(t, nil)
		if copied, err := Tree(t.Context(), test.from, to, test.limits); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: copied %+v, %v", name, copied, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to, _ := open(t, nil)
	if _, err := Tree(ctx, from, to, DefaultLimits); !errors.Is(err, context.Canceled) {
		t.Error("a copy goes on that nobody waits for:", err)
	}
}
