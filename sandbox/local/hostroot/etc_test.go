package hostroot

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestOurEtc has a host with secrets in all the places that a child sees something of.
func TestOurEtc(t *testing.T) {
	host, state := t.TempDir(), t.TempDir()
	write := func(name string, mode fs.FileMode) {
		file := filepath.Join(host, "etc", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ssl/certs/ca.pem", "ld.so.cache", "services", "ld.so.conf.d/x.conf", "hosts", "passwd", "resolv.conf"} {
		write(name, 0o644)
	}
	for _, name := range []string{"shadow", "ssl/private/key.pem", "gitconfig", "environment"} {
		write(name, 0o644)
	}
	write("ssl/certs/server.key", 0o640)
	write("alternatives/deep/secret", 0o600)
	if err := os.Symlink("/usr/share/zoneinfo/UTC", filepath.Join(host, "etc", "localtime")); err != nil {
		t.Fatal(err)
	}
	dir, err := layEtc(host, state)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(state, long, long); err != nil {
		t.Fatal(err)
	}
	again, err := layEtc(host, state)
	if err != nil || again != dir {
		t.Errorf("the same files are laid as %s and as %s, %v", dir, again, err)
	}
	if info, err := os.Stat(state); err != nil || !info.ModTime().Equal(long) {
		t.Errorf("the same files were written again: %v, %v", info, err)
	}
	want := []string{
		"alternatives", "alternatives/deep", "group", "hostname", "hosts", "ld.so.cache", "ld.so.conf.d", "ld.so.conf.d/x.conf",
		"localtime", "nsswitch.conf", "passwd", "resolv.conf", "services", "ssl", "ssl/certs", "ssl/certs/ca.pem",
	}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("laid are\n%v, want\n%v", got, want)
	}
	if hosts, err := os.ReadFile(filepath.Join(dir, "hosts")); err != nil || string(hosts) == "hosts" {
		t.Errorf("hosts is the host's: %q, %v", hosts, err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, ".etc-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	write("ssl/certs/another.pem", 0o644)
	if newer, err := layEtc(host, state); err != nil || newer == dir {
		t.Errorf("other files are laid in the same place, %v", err)
	}
}

// tree is what a directory holds. Every user must be able to read all of it.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o755, false: 0o644}[entry.IsDir()]; entry.Type()&fs.ModeSymlink == 0 && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if path != dir {
			names = append(names, path[len(dir)+1:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
