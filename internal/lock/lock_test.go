package lock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var kinds = map[string]func(dir, who string) (*Lock, error){"state": State, "outbox": outbox}

// outbox locks the outbox to which a path leads.
func outbox(dir, who string) (*Lock, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	return Outbox(dir, info, who)
}

func TestTheSecondIsToldWhoIsFirst(t *testing.T) {
	for name, take := range kinds {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := must(t, take, dir)
			_, err := take(dir, "somebody else")
			held, ok := errors.AsType[*HeldError](err)
			if !ok || held.Dir != dir || held.Holder != "the test" || !strings.Contains(err.Error(), "the test") {
				t.Fatalf("the second one gets %v", err)
			}
			if err := first.Unlock(); err != nil {
				t.Fatal(err)
			}
			if err := must(t, take, dir).Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnotherPathOfTheSameOutbox(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	defer must(t, outbox, dir).Unlock()
	if lock, err := outbox(link, "the test"); err == nil {
		lock.Unlock()
		t.Error("a link to the outbox gets around the lock")
	}
}

func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	lock := must(t, outbox, dir)
	path := lock.file.Name()
	if filepath.Dir(path) == dir {
		t.Errorf("the lock lies in the outbox: %s", path)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the lock is still there: %v", err)
	}
}

// TestOnlyOneAtATime lets many take and release the same lock, which also removes and makes its file.
func TestOnlyOneAtATime(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for taken.Load() < 200 {
				lock, err := State(dir, "the test")
				if err != nil {
					continue
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock at once", n)
				}
				taken.Add(1)
				holders.Add(-1)
				if err := lock.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestAPlantedLinkIsNotFollowed(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, filepath.Join(dir, stateName)); err != nil {
		t.Fatal(err)
	}
	if _, err := State(dir, "the test"); err == nil {
		t.Error("a link was taken for a lock")
	}
	if _, err := os.Lstat(victim); !os.IsNotExist(err) {
		t.Error("the link was followed")
	}
}

func must(t *testing.T, take func(dir, who string) (*Lock, error), dir string) *Lock {
	t.Helper()
	lock, err := take(dir, "the test")
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// TestALockIsOfOneDirectory: the one that takes the place of a state directory has another.
func TestALockIsOfOneDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := State(dir, "us")
	if err != nil {
		t.Fatal(err)
	}
	if !held.IsOf(dir) {
		t.Error("it is not that of its directory")
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if held.IsOf(dir) || !held.IsOf(dir+".old") {
		t.Error("it is that of the directory in the place of its own")
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
}
