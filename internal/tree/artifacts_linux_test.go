package tree

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// found are the artifacts in a directory, and how many were left out.
func found(t *testing.T, dir string, want Want) (paths string, all Artifacts) {
	t.Helper()
	file, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := Reopen(file)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if all, err = d.Artifacts(t.Context(), Bounds{Time: time.Minute}, want); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all.Files {
		names = append(names, f.Path)
	}
	return strings.Join(names, " "), all
}

func plant(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArtifacts(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "report/a.txt", "report/deep/b", "x.pdf", "y.PDF", "sub/x.pdf", "reports/c", "out/1.json", "out/2.txt")
	want := Want{Patterns: []string{"report/", "*.pdf", "out/*.json"}, Number: 10, Bytes: 1 << 20}
	paths, all := found(t, dir, want)
	if paths != "out/1.json report/a.txt report/deep/b x.pdf" || all.Left != 0 || !all.Whole() {
		t.Errorf("found are %s; %+v", paths, all)
	}
	if f := all.Files[0]; f.Size != 7 || f.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("content"))) {
		t.Errorf("the first is %+v", f)
	}
	want.Since = time.Now().Add(time.Hour)
	if paths, _ := found(t, dir, want); paths != "" {
		t.Errorf("of before are %s", paths)
	}
	old := time.Now().Add(-time.Hour)
	want.Since = time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "x.pdf"), old, old); err != nil {
		t.Fatal(err)
	}
	if paths, _ := found(t, dir, want); !strings.Contains(paths, "x.pdf") {
		t.Errorf("a time that the child has set counts: %s", paths)
	}
}

func TestHostileArtifacts(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	plant(t, outside, "secret", "tree/file")
	plant(t, dir, "ok", "shared", "bad\nname", "bad\x1bname", "bad\u200bname", "bad\xffname", "foreign")
	for _, err := range []error{
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(outside, "tree"), filepath.Join(dir, "tree")),
		os.Link(filepath.Join(dir, "shared"), filepath.Join(outside, "second")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.Mkdir(filepath.Join(dir, "directory"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, left := "ok", int64(5)
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Join(dir, "foreign"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		left++
	} else {
		want = "foreign ok"
	}
	paths, all := found(t, dir, Want{Patterns: []string{"*", "tree/", "../*"}, Number: 100, Bytes: 1 << 20})
	if paths != want || all.Left != left {
		t.Errorf("found are %q, left out %d", paths, all.Left)
	}
	huge := t.TempDir()
	plant(t, huge, "a", "b", "c", "d")
	if err := os.Truncate(filepath.Join(huge, "a"), 1<<40); err != nil {
		t.Fatal(err)
	}
	_, all = found(t, huge, Want{Patterns: []string{"*"}, Number: 3, Bytes: 8})
	read := 0
	for _, f := range all.Files {
		if f.SHA256 != "" {
			read++
		}
	}
	if len(all.Files) != 3 || all.Left != 1 || read > 1 {
		t.Errorf("of many and huge files: %+v", all)
	}
	long := t.TempDir()
	plant(t, long, strings.Repeat(strings.Repeat("d", 240)+"/", 4)+strings.Repeat("x", 240), ".../d/x")
	if paths, all := found(t, long, Want{Patterns: []string{"*/*/*"}, Number: 3, Bytes: 8}); paths != "" || all.Left != 2 {
		t.Errorf("of a path that is cut: %q, %+v", paths, all)
	}
}

// TestADeviceIsNotOpened that takes a file's place after the walk has seen the file. A FIFO stands for it here: the kernel
// tells who has opened it.
func TestADeviceIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "f"), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	events, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(events)
	if _, err := unix.InotifyAddWatch(events, filepath.Join(dir, "f"), unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	c := collection{walk: &walk{}, owner: uint32(os.Getuid())}
	if a, err := c.read(entry{in: &level{fd: int(at.Fd())}, name: "f"}); err == nil {
		t.Errorf("it is taken for a file: %+v", a)
	}
	if n, err := unix.Read(events, make([]byte, 4096)); err != unix.EAGAIN {
		t.Errorf("it was opened (%d, %v)", n, err)
	}
}
