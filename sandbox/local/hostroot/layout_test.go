package hostroot

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLayoutOfHosts(t *testing.T) {
	oneUsr, split := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{"bin": "usr/bin", "lib64": "/usr/lib64", "sbin": "../etc", "lib": "bin/../../x", "usr/local": "../var/local"} {
		if err := os.MkdirAll(filepath.Join(oneUsr, "usr"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(oneUsr, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "lib", "usr/local"} {
		if err := os.MkdirAll(filepath.Join(split, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if l := Read(oneUsr); len(l.Links) != 2 || l.Links["bin"] != "usr/bin" || l.Links["lib64"] != "/usr/lib64" || len(l.Dirs) != 0 {
		t.Errorf("merged: %+v", l)
	} else if all := l.Binds("/etc-1", "/empty"); !slices.Equal(all, []Bind{{"/usr", "/usr"}, {"/etc-1", "/etc"}}) {
		t.Errorf("where /usr/local is a link, the binds are %+v", all)
	}
	if bare := Read(t.TempDir()); !maps.Equal(bare.Links, merged) || bare.Dirs != nil || bare.Local {
		t.Errorf("an image without a system: %+v", bare)
	}
	l := Read(split)
	if len(l.Links) != 0 || !slices.Equal(l.Dirs, []string{"bin", "lib"}) {
		t.Errorf("split: %+v", l)
	}
	if all := l.Binds("/etc-1", "/empty"); len(all) != 5 || all[1] != (Bind{"/empty", "/usr/local"}) || all[4] != (Bind{"/lib", "/lib"}) {
		t.Errorf("the binds of a split host are %+v", all)
	}
}

// TestAround: what is shown in the place of a bind takes it, and in /usr there is no other place.
func TestAround(t *testing.T) {
	split := Layout{Local: true}.Binds("/etc-1", "/empty")
	all, err := Around(split, []string{"/opt/tools", "/workspace", "/usr/local"})
	if want := []Bind{{"/usr", "/usr"}, {"/etc-1", "/etc"}}; err != nil || !slices.Equal(all, want) || len(split) != 3 {
		t.Errorf("%v, %v, want %v", all, err, want)
	}
	for _, target := range []string{"/usr/local/go", "/usr/lib/x"} {
		if _, err := Around(split, []string{target}); err == nil || !strings.Contains(err.Error(), "no directory "+target) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := Around(Layout{}.Binds("/etc-1", "/empty"), []string{"/usr/local"}); err == nil {
		t.Error("where /usr/local is no directory, something can be shown there")
	}
}

// TestEmptyRoot makes it twice, and over a link of another user.
func TestEmptyRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	layout := Layout{Links: map[string]string{"bin": "usr/bin"}, Dirs: []string{"lib"}}
	for range 2 {
		if err := layout.Lay(root); err != nil {
			t.Fatal(err)
		}
	}
	made := modesIn(t, root)
	for name, want := range map[string]fs.FileMode{
		".": 0o755 | fs.ModeDir, "tmp": 0o777 | fs.ModeDir | fs.ModeSticky, "home/agent": 0o700 | fs.ModeDir,
		"usr": 0o755 | fs.ModeDir, "lib": 0o755 | fs.ModeDir, "bin": 0o777 | fs.ModeSymlink, "var": 0,
	} {
		if made[name] != want {
			t.Errorf("%s has mode %v, want %v", name, made[name], want)
		}
	}
	if target, err := os.Readlink(filepath.Join(root, "bin")); target != "usr/bin" || len(made) != len(layout.Entries())+1 {
		t.Errorf("bin leads to %q, %v; there are %v", target, err, made)
	}
	layout.Links["bin"] = "usr/sbin"
	if err := layout.Lay(root); err == nil {
		t.Error("a link that leads elsewhere was taken for ours")
	}
}

func modesIn(t *testing.T, root string) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			rel, _ := filepath.Rel(root, path)
			modes[rel] = info.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}
