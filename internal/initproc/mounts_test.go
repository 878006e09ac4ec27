//go:build linux

package initproc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

func TestProveFlags(t *testing.T) {
	const ro, hard = unix.ST_RDONLY, unix.ST_NOSUID | unix.ST_NODEV
	for _, test := range []struct {
		flags              int64
		writable, hardened bool
		says               string
	}{
		{ro, false, false, ""},
		{ro | hard, false, true, ""},
		{0, true, false, ""},
		{hard | unix.ST_NOATIME, true, true, ""},
		{0, false, false, "should be read-only"},
		{ro, true, false, "should be writable"},
		{ro, false, true, "nosuid and nodev"},
		{unix.ST_NOSUID, true, true, "nosuid and nodev"},
		{unix.ST_NODEV, true, true, "nosuid and nodev"},
	} {
		err := proveFlags(test.flags, runfile.Mount{Writable: test.writable, Hardened: test.hardened})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// TestProveMounts uses directories that are no mounts: what is compared is the same.
func TestProveMounts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir+"/a", 0o700), os.Mkdir(dir+"/b", 0o700), os.Symlink("a", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	expect := func(path, pinned string) runfile.Mount {
		var stat unix.Stat_t
		if err := unix.Lstat(pinned, &stat); err != nil {
			t.Fatal(err)
		}
		return runfile.Mount{Path: path, Device: uint64(stat.Dev), Inode: stat.Ino, Writable: true} // narrower on some processors
	}
	unnumbered := func(path string, writable bool) runfile.Mount {
		return runfile.Mount{Path: path, Unnumbered: true, Writable: writable}
	}
	readOnly := func(m runfile.Mount) runfile.Mount {
		m.Writable = false
		return m
	}
	good := []runfile.Mount{
		expect(dir+"/a", dir+"/a"), expect(dir+"/b", dir+"/b"), unnumbered(dir, true),
		unnumbered(dir+"/b", false), // whose flags are not to be seen
	}
	proved, err := proveMounts(good)
	if err != nil || len(proved) != 4 || !same(t, proved[1], dir+"/b") {
		t.Errorf("%v, %v", proved, err)
	}
	proved.Close()
	for _, test := range []struct {
		bad  runfile.Mount
		says string
	}{
		{expect(dir+"/a", dir+"/b"), "and the host pinned"},
		{expect(dir+"/link", dir+"/link"), "is a link"},
		{expect(dir+"/none", dir+"/b"), "no such file"},
		{readOnly(expect(dir+"/b", dir+"/b")), "is writable"},
		{unnumbered(dir+"/link", true), "is a link"},
		{unnumbered(dir+"/none", true), "no such file"},
	} {
		_, err := proveMounts(append(good, test.bad))
		var f *failure
		if !errors.As(err, &f) || f.why != runfile.FailureMount || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v; it does not say %q", err, test.says)
		}
	}
}
