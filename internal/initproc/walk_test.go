//go:build linux

package initproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// open is a handle on a directory for the length of a test.
func open(t *testing.T, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, handle|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// same says whether the handle is the file at the path.
func same(t *testing.T, fd int, path string) bool {
	t.Helper()
	var a, b unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &a), unix.Lstat(path, &b)); err != nil {
		t.Fatal(err)
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}

func TestBelow(t *testing.T) {
	for _, test := range [][3]string{
		{"/", "/", "."}, {"/", "/a", "a"}, {"/", "/a/b", "a/b"}, {"/a", "/a", "."}, {"/a", "/a/b/c", "b/c"}, {"/a/b", "/a/b/c", "c"},
	} {
		if got := below(test[0], test[1]); got != test[2] {
			t.Errorf("below(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
}

func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	root := open(t, dir)
	for rel, create := range map[string]bool{".": false, "a": false, "a/b": true, "new/deep/er": true} {
		fd, err := openDir(root, rel, create)
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			continue
		}
		if !same(t, fd, filepath.Join(dir, rel)) {
			t.Errorf("%s: another directory was opened", rel)
		}
		unix.Close(fd)
	}
}

func TestOpenDirRefuses(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(
		os.Mkdir(filepath.Join(dir, "real"), 0o700),
		os.Symlink("real", filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	root := open(t, dir)
	for _, test := range []struct {
		rel    string
		create bool
		want   error
	}{
		{"link", false, unix.ENOTDIR},
		{"link/x", true, unix.ENOTDIR},
		{"dangling", true, unix.ENOTDIR},
		{"file", false, unix.ENOTDIR},
		{"file/x", true, unix.ENOTDIR},
		{"none", false, unix.ENOENT},
		{"real/none/x", false, unix.ENOENT},
	} {
		if _, err := openDir(root, test.rel, test.create); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.rel, err, test.want)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 4 {
		t.Errorf("the directory has %d entries", len(entries))
	}
}

func TestOpenPathDoesNotFollow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/", "/etc", dir, link} {
		fd, err := openPath(name)
		if err != nil || !same(t, fd, name) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		unix.Close(fd)
	}
	if _, err := openPath(link + "/passwd"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("through a link: %v", err)
	}
}
