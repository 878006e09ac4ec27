package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// alice is a user with a primary group and another one.
var alice = User{UID: 1000, GID: 1000, Groups: []uint32{1000, 5050}}

// TestTheWayIsTheUsers: a directory on the way counts as it counts for the user, with groups and access lists.
func TestTheWayIsTheUsers(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		uid, gid uint32
		mode     uint32
		open     bool
	}{
		"own": {1000, 1000, 0o700, true}, "everybodys": {0, 0, 0o711, true}, "of a group": {0, 5050, 0o710, true},
		"roots": {0, 0, 0o700, false}, "of another": {1001, 1001, 0o700, false}, "of another group": {0, 5051, 0o770, false},
		"of roots group": {0, 0, 0o770, false}, "shut for the group": {0, 5050, 0o701, false}, "own and shut": {1000, 1000, 0o077, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := w.dir(name, c.uid)
			w.dir(name+"/in", 1000)
			w.ok(errors.Join(unix.Chown(dir, int(c.uid), int(c.gid)), unix.Chmod(dir, c.mode)))
			if pin, err := w.bases.Pin(w.source(name + "/in")); err != nil {
				t.Errorf("root does not get through, so that nothing was tried: %v", err)
			} else {
				w.ok(pin.Close())
			}
			pin, err := w.bases.PinAs(w.source(name+"/in"), alice)
			var wrong *PathError
			switch {
			case c.open && err != nil:
				t.Errorf("it is refused: %v", err)
			case !c.open && (!errors.As(err, &wrong) || wrong.Kind != KindDenied):
				t.Errorf("it is not refused: %v", err)
			}
			if err == nil {
				w.ok(pin.Close())
			}
		})
	}
}

// TestAnAccessListOnTheWay is one that a mode does not show.
func TestAnAccessListOnTheWay(t *testing.T) {
	w := newWorld(t)
	dir := w.dir("listed", 0)
	w.dir("listed/in", 1000)
	// user::rwx user:1000:--- group::r-x mask::r-x other::r-x
	list := []byte{
		2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 0, 0, 0xe8, 3, 0, 0,
		4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255,
	}
	if err := unix.Setxattr(dir, "system.posix_acl_access", list, 0); errors.Is(err, unix.EOPNOTSUPP) {
		unproved(t, "the file system knows no access lists")
	} else {
		w.ok(err)
	}
	var wrong *PathError
	if _, err := w.bases.PinAs(w.source("listed/in"), alice); !errors.As(err, &wrong) || wrong.Kind != KindDenied {
		t.Errorf("%v", err)
	}
	pin, err := w.bases.PinAs(w.source("listed/in"), User{UID: 1001, GID: 1001})
	w.ok(err)
	w.ok(pin.Close())
}

// rootsAlone is what the kernel says of a thread whose rights to files are all root's.
var rootsAlone = regexp.MustCompile(`(?s)\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n`)

// TestAThreadIsRootsAgain: whatever thread comes next, it has root's rights, and in Do it never has.
func TestAThreadIsRootsAgain(t *testing.T) {
	needRoot(t)
	closed := filepath.Join(t.TempDir(), "closed")
	must(t, os.Mkdir(closed, 0o700))
	must(t, os.WriteFile(filepath.Join(closed, "file"), nil, 0o600))
	look := func() error { _, err := os.Stat(filepath.Join(closed, "file")); return err }
	before := foreignThreads(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if err := alice.Do(look); !errors.Is(err, unix.EACCES) {
					t.Errorf("as alice: %v", err)
				}
				if err := look(); err != nil {
					t.Errorf("as root: %v", err)
				}
			}
		})
	}
	all.Wait()
	for id, status := range foreignThreads(t) {
		if before[id] == "" {
			t.Errorf("a thread is not root's:\n%s", status)
		}
	}
}

// foreignThreads are the threads of this process that are not root's. Another test leaves one behind if it ends a goroutine
// that has locked the main thread, for Go parks that thread and does not end it.
func foreignThreads(t *testing.T) map[string]string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	found := map[string]string{}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		must(t, err)
		if !rootsAlone.Match(status) {
			found[task.Name()] = string(status)
		}
	}
	return found
}

func BenchmarkPinAs(b *testing.B) {
	w := newWorld(b)
	w.dir("a/b/ws", 1000)
	for name, who := range map[string]User{"root": {}, "alice": alice} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pin, err := w.bases.PinAs(w.source("a/b/ws"), who)
				w.ok(err)
				w.ok(pin.Close())
			}
		})
	}
}
