package delegation

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// naiveWrite is what a watcher would do that does not think of links.
func naiveWrite(outbox *Dir, name string) error {
	return os.WriteFile(filepath.Join(outbox.Path(), name), []byte("response"), 0o600)
}

// naiveReplace is what MassGen's watcher does: a name that can be foreseen, and a rename.
func naiveReplace(outbox *Dir, name string) error {
	path := filepath.Join(outbox.Path(), name)
	return errors.Join(os.WriteFile(path+".tmp", []byte("response"), 0o600), os.Rename(path+".tmp", path))
}

// TestAttackPlantedTarget plants something at a name that the watcher will write, such that a plain write destroys a
// file outside of the outbox.
func TestAttackPlantedTarget(t *testing.T) {
	for name, attack := range map[string]struct {
		plant func(victim, path string) error
		naive func(*Dir, string) error
	}{
		"symbolic link":                       {os.Symlink, naiveWrite},
		"hard link":                           {os.Link, naiveWrite},
		"symbolic link at the temporary name": {func(victim, path string) error { return os.Symlink(victim, path+".tmp") }, naiveReplace},
	} {
		t.Run(name, func(t *testing.T) {
			outbox := newOutbox(t)
			victim := hostSecret(t)
			if err := attack.plant(victim, filepath.Join(outbox.Path(), "response_s1.json")); err != nil {
				t.Fatal(err)
			}
			if err := outbox.Publish("response_s1.json", []byte("response")); err != nil {
				t.Error(err)
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != secret {
				t.Errorf("the victim now holds %q, %v", data, err)
			}
			if data, _, err := outbox.Read("response_s1.json", 100); err != nil || string(data) != "response" {
				t.Errorf("published: %q, %v", data, err)
			}
			checkOracle(t, attack.plant, attack.naive)
		})
	}
}

// checkOracle makes the same attack against the plain way of writing, where it must succeed.
func checkOracle(t *testing.T, plant func(victim, path string) error, naive func(*Dir, string) error) {
	t.Helper()
	outbox := newOutbox(t)
	victim := hostSecret(t)
	if err := plant(victim, filepath.Join(outbox.Path(), "response_s1.json")); err != nil {
		t.Fatal(err)
	}
	if err := naive(outbox, "response_s1.json"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) == secret {
		t.Errorf("the oracle is dead: the victim still holds %q, %v", data, err)
	}
}

func TestAttackPlantedPipe(t *testing.T) {
	outbox := newOutbox(t)
	if err := unix.Mkfifo(filepath.Join(outbox.Path(), "response_s1.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		if err := outbox.Publish("response_s1.json", []byte("response")); err != nil {
			t.Error(err)
		}
	})
	if data, _, err := outbox.Read("response_s1.json", 100); err != nil || string(data) != "response" {
		t.Errorf("published: %q, %v", data, err)
	}
}

// TestAttackPlantedDirectory cannot be written over; what matters is that it is told apart and leaves nothing behind.
func TestAttackPlantedDirectory(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"empty":     func(path string) error { return os.Mkdir(path, 0o777) },
		"not empty": func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			outbox := newOutbox(t)
			if err := plant(filepath.Join(outbox.Path(), "response_s1.json")); err != nil {
				t.Fatal(err)
			}
			if err := outbox.Publish("response_s1.json", []byte("response")); !errors.Is(err, ErrDirectory) {
				t.Error(err)
			}
			if left := entries(t, outbox); !slices.Equal(left, []string{"response_s1.json"}) {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestAttackReplacedOutbox replaces the whole directory by a link to one of the host's, once it is open.
func TestAttackReplacedOutbox(t *testing.T) {
	outbox := newOutbox(t)
	hosts := t.TempDir()
	if err := errors.Join(os.Rename(outbox.Path(), outbox.Path()+".old"), os.Symlink(hosts, outbox.Path())); err != nil {
		t.Fatal(err)
	}
	if err := naiveReplace(outbox, "oracle.json"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(hosts, "oracle.json")); err != nil {
		t.Fatalf("the oracle is dead: %v", err)
	}
	if err := outbox.Publish("response_s1.json", []byte("response")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(hosts, "response_s1.json")); !os.IsNotExist(err) {
		t.Errorf("it was written through the link: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(outbox.Path()+".old", "response_s1.json")); err != nil {
		t.Errorf("it was not written into the held directory: %v", err)
	}
	if again, err := OpenDir(outbox.Path()); err == nil {
		again.Close()
		t.Error("the link is opened as an outbox")
	}
}
