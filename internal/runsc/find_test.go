package runsc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsFoundFirst(t *testing.T) {
	base := t.TempDir()
	configured := standIn(t, dir(t, base, "configured"), "")
	beside := standIn(t, dir(t, base, "beside"), "")
	inPath := standIn(t, dir(t, base, "path"), "")
	own := filepath.Join(base, "beside", "watcher")
	t.Setenv("PATH", filepath.Join(base, "empty")+":"+filepath.Dir(inPath))

	check := func(say, want, where string) {
		t.Helper()
		got, err := find(say, own)
		if err != nil || got.Path != real(t, want) || got.Where != where {
			t.Errorf("found %+v, %v, want %s, %s", got, err, want, where)
		}
	}
	check(configured, configured, "named by the configuration")
	check("", beside, "beside this program")
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	check("", inPath, "in PATH")
	if err := os.Remove(inPath); err != nil {
		t.Fatal(err)
	}
	_, err := find("", own)
	mustFail(t, err, Missing, "there is no runsc beside this program", filepath.Dir(own), "PATH")
}

// TestNoOtherIsTakenInstead has a good program in PATH behind one that may not be used.
func TestNoOtherIsTakenInstead(t *testing.T) {
	base := t.TempDir()
	t.Setenv("PATH", filepath.Dir(standIn(t, dir(t, base, "path"), "")))
	beside := standIn(t, dir(t, base, "beside"), "")
	own := filepath.Join(base, "beside", "watcher")

	mode(t, beside, 0o777)
	_, err := find("", own)
	mustFail(t, err, Unsafe, beside)
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", beside); err != nil {
		t.Fatal(err)
	}
	_, err = find("", own)
	mustFail(t, err, Missing, beside)
	_, err = find(filepath.Join(base, "none"), own)
	mustFail(t, err, Missing, filepath.Join(base, "none"), "named by the configuration", "no such file")
}

func TestWhatIsNoProgram(t *testing.T) {
	base := t.TempDir()
	_, err := find(base, base)
	mustFail(t, err, Missing, base, "is not a program but a directory")
	plain := standIn(t, base, "")
	mode(t, plain, 0o644)
	_, err = find(plain, base)
	mustFail(t, err, Missing, plain, "is not executable")

	// What lies where we happen to stand is nothing that we would execute.
	mode(t, plain, 0o755)
	t.Chdir(base)
	t.Setenv("PATH", ".")
	_, err = find("", filepath.Join(dir(t, base, "elsewhere"), "watcher"))
	mustFail(t, err, Missing, "there is no runsc")
}

// TestLinksAreResolvedOnce exchanges the link behind our back.
func TestLinksAreResolvedOnce(t *testing.T) {
	base := t.TempDir()
	good := standIn(t, dir(t, base, "good"), "echo runsc version "+Pinned)
	bad := standIn(t, dir(t, base, "bad"), "echo another")
	link := filepath.Join(base, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	p, err := find(link, base)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bad, link); err != nil {
		t.Fatal(err)
	}
	if v, err := p.Version(t.Context()); err != nil || v.Text != Pinned {
		t.Errorf("%s says %+v, %v", p.Path, v, err)
	}
}

func real(t *testing.T, path string) string {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}
