package hostroot

import (
	"errors"
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

// TestAnEtcThatIsNotWhole: after a power cut a directory can have its name and lack what is in it. It is laid again, and what a start that was
// killed has left is removed.
func TestAnEtcThatIsNotWhole(t *testing.T) {
	host, state := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(host, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(host, "etc", "services"), []byte("ssh 22/tcp"), 0o644); err != nil {
		t.Fatal(err)
	}
	whole, err := layEtc(host, state)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func() error{
		"a directory without its files": func() error { return errors.Join(os.RemoveAll(whole), os.Mkdir(whole, 0o755)) },
		"a file of the host's is empty": func() error { return os.Truncate(filepath.Join(whole, "services"), 0) },
		"a file of ours is empty":       func() error { return os.Truncate(filepath.Join(whole, "hosts"), 0) },
		"a link is missing":             func() error { return os.Remove(filepath.Join(whole, "passwd")) },
	} {
		before := tree(t, whole)
		if err := errors.Join(damage(), os.Mkdir(filepath.Join(state, ".etc-next"), 0o700)); err != nil {
			t.Fatal(err)
		}
		again, err := layEtc(host, state)
		if err != nil || again != whole {
			t.Errorf("%s: laid as %s and as %s, %v", what, whole, again, err)
		}
		hosts, err := os.ReadFile(filepath.Join(whole, "hosts"))
		services, noServices := os.ReadFile(filepath.Join(whole, "services"))
		if err != nil || noServices != nil || string(hosts) != ourEtc["hosts"] || string(services) != "ssh 22/tcp" || !slices.Equal(tree(t, whole), before) {
			t.Errorf("%s: it has %v, hosts %q, services %q", what, tree(t, whole), hosts, services)
		}
		if left, _ := filepath.Glob(filepath.Join(state, ".*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
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
