package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFollow walks paths through links, and sees each of them refused once another user can change one step.
func TestFollow(t *testing.T) {
	base := filepath.Join(realTemp(t), "base")
	place := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	must(t, os.MkdirAll(place("deep", "er"), 0o755))
	must(t, os.Mkdir(place("shared"), 0o755))
	must(t, os.Chmod(place("shared"), os.ModeSticky|0o777))
	file := place("deep", "er", "file")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink("../deep/./er/../er", place("shared", "dir")))
	must(t, os.Symlink(place("shared", "dir", "file"), place("absolute")))
	must(t, os.Symlink("round", place("round")))

	for _, path := range []string{file, place("absolute"), place("shared", "dir", "file")} {
		if real, err := Places().Follow(path); err != nil || real != file {
			t.Errorf("%s leads to %q, %v", path, real, err)
		}
	}
	if _, err := Places().Follow(place("deep", "none", "below")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is missing: %v", err)
	}
	if _, err := Places().Follow(place("round")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	must(t, os.Chmod(place("deep"), 0o777))
	for _, path := range []string{file, place("absolute"), place("deep", "none")} {
		if _, err := Places().Follow(path); !refusedFor(err, place("deep"), "can be written by others") {
			t.Errorf("%s, in a directory that all may write: %v", path, err)
		}
	}
	must(t, os.Chmod(place("deep"), 0o755))
	if os.Geteuid() != 0 {
		return // only root gives files away
	}
	link := place("shared", "dir")
	must(t, os.Lchown(link, 4711, 4711))
	for _, path := range []string{place("absolute"), filepath.Join(link, "file")} {
		if _, err := Places().Follow(path); !refusedFor(err, link, "belongs to user 4711") {
			t.Errorf("%s, by a link of another user: %v", path, err)
		}
	}
}

// TestOnlyAFileIsOpened, and a FIFO is not waited for.
func TestOnlyAFileIsOpened(t *testing.T) {
	dir := realTemp(t)
	fifo := filepath.Join(dir, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, dir} {
		if file, err := Places().OpenFile(path); err == nil {
			file.Close()
			t.Errorf("%s was opened", path)
		}
	}
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, nil, 0o600))
	file, err := Places().OpenFile(path)
	must(t, err)
	must(t, file.Close())
}

// realTemp is a directory of the test by its name without links.
func realTemp(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}
