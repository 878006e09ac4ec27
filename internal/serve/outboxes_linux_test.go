package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/test/attack"
)

// user is a user id that no machine has.
const user = 2_000_000_077

// ownerOf is the user that a path itself belongs to, without following a link.
func ownerOf(t *testing.T, path string) (uid int, mode os.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), info.Mode()
}

// project is a directory of the user's, as root finds it.
func project(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories to others: nothing was tried")
	}
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path := dir; path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatIsMadeForAUserIsTheirs(t *testing.T) {
	dir := project(t)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	path := filepath.Join(dir, "a/b/outbox")
	for range 2 { // the second time it is there
		if err := makeShared(path); err != nil {
			t.Fatal(err)
		}
	}
	for rel, mode := range map[string]os.FileMode{"a": onTheWay, "a/b": onTheWay, "a/b/outbox": outboxMode} {
		if uid, have := ownerOf(t, filepath.Join(dir, rel)); uid != user || have.Perm() != mode {
			t.Errorf("%s belongs to %d and has mode %v", rel, uid, have)
		}
	}
	if err := makeShared(filepath.Join(filepath.Dir(dir), "ours/x")); err != nil {
		t.Fatal(err)
	}
	if uid, _ := ownerOf(t, filepath.Join(filepath.Dir(dir), "ours/x")); uid != 0 {
		t.Errorf("what was made beside root's is %d's", uid)
	}
}

// TestNothingIsMadeThroughAUsersLink: a link in the user's directory, on the way and at the end, there and dangling. The
// oracle makes the same directories as by their paths alone.
func TestNothingIsMadeThroughAUsersLink(t *testing.T) {
	trial := attack.Trial{Row: "H8", Where: "host", Oracle: true}
	for _, c := range []struct{ link, path string }{
		{"way", "way/outbox"}, {"way", "way/a/outbox"}, {"dangling", "dangling/outbox"},
	} {
		victim := t.TempDir()
		target := filepath.Join(victim, "spool")
		dir := project(t)
		if c.link == "way" {
			if err := os.Mkdir(target, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, filepath.Join(dir, c.link)); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(filepath.Join(dir, c.link), user, user); err != nil {
			t.Fatal(err)
		}
		trial.Tried++
		err := makeShared(filepath.Join(dir, c.path))
		if err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("%s: %v", c.path, err)
		} else if len(below(t, victim)) == map[bool]int{true: 1, false: 0}[c.link == "way"] {
			trial.Held++
		}
		if c.link == "way" {
			err = os.MkdirAll(filepath.Join(dir, c.path), 0o755)
			trial.Oracle = trial.Oracle && err == nil && len(below(t, victim)) > 1
		}
	}
	attack.Record(t, trial)
}

// below is all that lies in a directory.
func below(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNothingOfOthersIsGivenAway has a user that puts root's directory in the place of the one that is made for them, while
// it is made. Making it and giving it away, the oracle, is beaten.
func TestNothingOfOthersIsGivenAway(t *testing.T) {
	dir := project(t)
	roots, place := filepath.Join(dir, "roots"), filepath.Join(dir, "new")
	trial := attack.Trial{Row: "H8", Where: "host, a race"}
	for range attack.Times(200, 5000) {
		trial.Tried++
		lose := raceFor(t, roots, place, func(<-chan struct{}) { makeShared(place) })
		if !lose {
			trial.Held++
		}
	}
	for range 1000 {
		if raceFor(t, roots, place, func(exchanged <-chan struct{}) { makeAndGive(place, exchanged) }) {
			trial.Oracle = true
			break
		}
	}
	attack.Record(t, trial)
}

// makeAndGive is the simple way. It is interrupted at its worst moment, until the user has done what they can.
func makeAndGive(place string, exchanged <-chan struct{}) {
	if os.Mkdir(place, 0o700) == nil {
		<-exchanged
		os.Chown(place, user, user)
	}
}

// raceFor lets try and an exchange run against each other, and says whether the user has got root's directory.
func raceFor(t *testing.T, roots, place string, try func(exchanged <-chan struct{})) bool {
	t.Helper()
	if err := os.Mkdir(roots, 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.Lstat(roots)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			if os.Remove(place) == nil {
				os.Rename(roots, place)
				return
			}
		}
	}()
	try(done)
	<-done
	lost := false
	for _, path := range []string{roots, place} {
		if info, err := os.Lstat(path); err == nil && os.SameFile(info, before) {
			lost = info.Sys().(*syscall.Stat_t).Uid == user
		}
		os.Remove(path)
	}
	return lost
}

// TestATrialRemovesNothingOfOthers: its workspace lies where the parent can exchange it.
func TestATrialRemovesNothingOfOthers(t *testing.T) {
	dir := project(t)
	for _, with := range []struct {
		name     string
		exchange func(workspace string) error
		stays    string
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"no directory", os.Remove, ""},
		{"a directory of others", func(ws string) error {
			return errors.Join(os.Rename(ws, ws+".away"), os.MkdirAll(ws+"/others", 0o700))
		}, "/others"},
		{"a link to others", func(ws string) error {
			return errors.Join(os.Rename(ws, ws+".away"), os.Mkdir(ws+".others", 0o700), os.Symlink(ws+".others", ws))
		}, ".others"},
		{"a file of others in it", func(ws string) error { return os.WriteFile(ws+"/x", nil, 0o600) }, "/x"},
	} {
		t.Run(with.name, func(t *testing.T) {
			ws, clean, err := makeWorkspace(dir)
			if err != nil {
				t.Fatal(err)
			}
			if uid, mode := ownerOf(t, ws); uid != user || mode.Perm() != outboxMode {
				t.Errorf("it belongs to %d and has mode %v", uid, mode)
			}
			if err := with.exchange(ws); err != nil {
				t.Fatal(err)
			}
			err = clean()
			if _, there := os.Lstat(ws); (there == nil) != (with.stays != "") || (err != nil) != (with.stays != "") {
				t.Errorf("there: %v; clean says %v", there, err)
			}
			if _, err := os.Stat(ws + with.stays); with.stays != "" && err != nil {
				t.Error("what belongs to others is gone:", err)
			}
		})
	}
}
