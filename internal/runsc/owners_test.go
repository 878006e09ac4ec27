package runsc

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNobodyElseCanExchangeIt makes each thing on the way loose, sees it refused, and makes it fast again: what is
// refused is refused for that alone.
func TestNobodyElseCanExchangeIt(t *testing.T) {
	base := dir(t, t.TempDir(), "opt")
	bin := dir(t, base, "lib", "bin")
	path := standIn(t, bin, "")
	for what, c := range map[string]struct {
		path  string
		loose fs.FileMode
		ok    bool
	}{
		"its group may write it":            {path, 0o775, false},
		"everybody may write it":            {path, 0o757, false},
		"it is everybody's directory":       {bin, 0o777, false},
		"also a sticky one":                 {bin, 0o777 | fs.ModeSticky, false},
		"a directory above is everybody's":  {base, 0o777, false},
		"a sticky one keeps what is in it":  {base, 0o777 | fs.ModeSticky, true},
		"the owner's own group may write":   {bin, 0o775, true},
		"nobody may write":                  {path, 0o555, true},
		"it is executed for its owner only": {path, 0o700, true},
	} {
		mode(t, c.path, c.loose)
		_, err := find(path, base)
		if c.ok && err != nil {
			t.Errorf("%s: %v", what, err)
		} else if !c.ok {
			mustFail(t, err, Unsafe, base, "writ")
		}
		mode(t, c.path, 0o755)
		if _, err := find(path, base); err != nil {
			t.Fatalf("%s, and no more: %v", what, err)
		}
	}
}

// TestRootExecutesNobodysProgram gives a program that root executes to another user.
func TestRootExecutesNobodysProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: files can be given away by root alone")
	}
	base := dir(t, t.TempDir(), "opt")
	path := standIn(t, dir(t, base, "bin"), "")
	own := filepath.Join(t.TempDir(), "watcher")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	mode(t, base, 0o775)
	if err := os.Chown(base, -1, 4711); err != nil {
		t.Fatal(err)
	}
	_, err := find(path, own)
	mustFail(t, err, Unsafe, base, "can be written by others")
	mode(t, base, 0o755)
	for _, given := range []string{path, filepath.Dir(path), base} {
		give(t, given, 4711)
		_, err := find(path, own)
		mustFail(t, err, Unsafe, given, "belongs to user 4711")
		// The owner of the watcher gains nothing.
		give(t, own, 4711)
		if _, err := find(path, own); err != nil {
			t.Errorf("%s belongs to the owner of the watcher: %v", given, err)
		}
		give(t, own, 0)
		give(t, given, 0)
	}
}

func give(t *testing.T, path string, uid int) {
	t.Helper()
	if err := os.Chown(path, uid, -1); err != nil {
		t.Fatal(err)
	}
}
