package beneath

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// Nothing but plain files in plain directories is opened, also where a link would stay inside.
func TestOnlyPlainThingsAreOpened(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, err := range []error{
		os.Mkdir(dir+"/sub", 0o755), os.WriteFile(dir+"/sub/plain", []byte("plain"), 0o644), os.Symlink("plain", dir+"/sub/link"),
		os.Symlink("sub", dir+"/inside"), os.WriteFile(dir+"/one", nil, 0o644), os.Link(dir+"/one", dir+"/two"), unix.Mkfifo(dir+"/fifo", 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, more, err := ReadFile(root, "sub/plain", 3); string(data) != "pla" || !more || err != nil {
		t.Errorf("%q, %v, %v", data, more, err)
	}
	for path, want := range map[string]error{
		"sub/link": delegation.ErrNotRegular, "inside/plain": ErrNotDirectory, "one/plain": ErrNotDirectory, "fifo": delegation.ErrNotRegular,
		"sub": delegation.ErrNotRegular, "one": delegation.ErrLinked, "none": os.ErrNotExist, "none/none": os.ErrNotExist,
	} {
		if _, _, err := ReadFile(root, path, 10); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if f, _, err := Open(root, "two", CheckRegular); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}
