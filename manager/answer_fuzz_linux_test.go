package manager

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/beneath"
)

// FuzzReadAnswer: a child leaves whatever it likes in its workspace. What its parent reads under the answer's name is
// what the kernel finds there in one lookup without a link, a regular file with one name, and never more than asked for.
func FuzzReadAnswer(f *testing.F) {
	const link, linkUp, hard, fifo, sparse = 1, 2, 3, 4, 5
	for _, tree := range [][]byte{
		nil,
		{0, 1, 6, 2},
		{link, 0},
		{link, 0, 0, 1, 6, 2},
		{linkUp, 0},
		{linkUp, 1, 6, 2},
		{hard, 2},
		{fifo, 2},
		{sparse, 2},
		{0, 0, 6, 1},
		{0, 2},
		{6, 0},
		{0, 0, link, 1},
		{0, 0, hard, 1},
		{7, 0, 6, 1},
		{7, 0, 0, 1, 6, 1},
		{7, 1},
	} {
		for _, rel := range []string{"a/b", "a", "answer.txt", "../secret"} {
			f.Add(tree, rel, int64(4))
		}
	}
	for _, rel := range []string{"a/../answer.txt", "..", "./a//b/", "a/b/c", "", "/", "a\x00b", "ü"} {
		f.Add([]byte{6, 2, 0, 0, 6, 1}, rel, int64(4))
	}
	f.Fuzz(func(t *testing.T, tree []byte, rel string, limit int64) {
		limit = max(0, limit%(1<<16))
		dir := litter(t, tree)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		got, more, err := beneath.ReadFile(root, rel, limit)
		want, good := lookedUp(t, dir, rel)
		switch {
		case err == nil && !good, bytes.Contains(got, []byte("secret")):
			t.Errorf("%q was read as %q", rel, got)
		case err != nil && good && filepath.IsLocal(rel) && filepath.Clean(rel) == rel:
			t.Errorf("%q is plainly there and cannot be read: %v", rel, err)
		case err == nil && (int64(len(got)) > limit || more != (want.size > int64(len(got))) || !bytes.HasPrefix(want.begin, got[:min(len(got), len(want.begin))])):
			t.Errorf("%q was read as %q, and there is more: %t", rel, got, more)
		}
	})
}

// litter is a workspace with what a tree says, two bytes for each entry: what it is, and its name.
func litter(t *testing.T, tree []byte) string {
	t.Helper()
	top := t.TempDir()
	secret, dir := filepath.Join(top, "secret"), filepath.Join(top, "ws")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for at := dir; len(tree) >= 2 && len(at) < 1000; tree = tree[2:] {
		path := filepath.Join(at, []string{"a", "b", "answer.txt", "c"}[tree[1]%4])
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch tree[0] % 9 {
		case 0:
			if os.Mkdir(path, 0o700) == nil {
				at = path
			}
		case 1:
			os.Symlink(secret, path)
		case 2:
			os.Symlink("..", path)
		case 3:
			os.Link(secret, path)
		case 4:
			unix.Mkfifo(path, 0o600)
		case 5:
			os.WriteFile(path, nil, 0o600)
			os.Truncate(path, 10<<30)
		case 6:
			os.WriteFile(path, []byte("an answer"), 0o600)
		case 7:
			os.Symlink("b", path)
		case 8:
			at = dir // what follows lies in the workspace itself again
		}
	}
	return dir
}

// truth is what a file really is.
type truth struct {
	size  int64
	begin []byte
}

// lookedUp asks the kernel for a file beneath a directory, without links.
func lookedUp(t *testing.T, dir, rel string) (truth, bool) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(at, filepath.Clean(rel), &how)
	if err != nil {
		return truth{}, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return truth{}, false
	}
	begin := make([]byte, min(st.Size, 64))
	n, err := unix.Pread(fd, begin, 0)
	return truth{st.Size, begin[:max(n, 0)]}, err == nil
}
