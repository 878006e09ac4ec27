package tree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/inode"
	"torno/test/missing"
)

// doomed is a directory that is to be emptied, and what must survive beside it.
type doomed struct {
	testing.TB
	parent *os.File
	path   string // of the doomed
	beside string // a directory with a file
}

func newDoomed(t testing.TB) *doomed {
	t.Helper()
	dir := t.TempDir()
	d := &doomed{TB: t, path: filepath.Join(dir, "doomed"), beside: filepath.Join(dir, "beside")}
	for _, path := range []string{d.path, d.beside} {
		d.must(os.Mkdir(path, 0o755))
	}
	d.must(os.WriteFile(filepath.Join(d.beside, "precious"), []byte("kept"), 0o644))
	parent, err := os.Open(dir)
	d.must(err)
	d.parent = parent
	t.Cleanup(func() { parent.Close() })
	return d
}

func (d *doomed) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func anyDirectory(*os.File) error { return nil }

// empty empties it, and looks that nothing beside it has gone.
func (d *doomed) empty(bounds Bounds) Emptied {
	d.Helper()
	e, err := Empty(context.Background(), d.parent, "doomed", anyDirectory, bounds)
	d.must(err)
	d.besideIsWhole()
	return e
}

func (d *doomed) besideIsWhole() {
	d.Helper()
	if data, err := os.ReadFile(filepath.Join(d.beside, "precious")); err != nil || string(data) != "kept" {
		d.Errorf("what lies beside it: %q, %v", data, err)
	}
}

// isEmpty wants nothing to be left.
func (d *doomed) isEmpty(e Emptied) {
	d.Helper()
	left, err := os.ReadDir(d.path)
	d.must(err)
	if len(left) > 0 || e.Left > 0 || e.Stopped {
		d.Errorf("%d entries are left, such as %v; it says %+v", len(left), left[:min(3, len(left))], e)
	}
}

func TestEmptyTakesEverything(t *testing.T) {
	d := newDoomed(t)
	plant(t, d.path, "a", "b/c", "b/d/e/f", "shut/inner/x", "\nodd\xff/name")
	d.must(os.Symlink(d.beside, filepath.Join(d.path, "link")))
	d.must(os.Symlink(filepath.Join(d.beside, "precious"), filepath.Join(d.path, "b", "link")))
	d.must(os.Link(filepath.Join(d.beside, "precious"), filepath.Join(d.path, "hard")))
	d.must(unix.Mkfifo(filepath.Join(d.path, "fifo"), 0o600))
	for _, shut := range []string{"shut/inner", "shut", "."} {
		d.must(os.Chmod(filepath.Join(d.path, shut), 0o500))
	}
	d.isEmpty(d.empty(Bounds{}))
}

// TestEmptyOfADeepTree: deeper than any path, and than there are descriptors.
func TestEmptyOfADeepTree(t *testing.T) {
	d := newDoomed(t)
	at, err := os.Open(d.path)
	d.must(err)
	for range MaxDepth + 100 {
		d.must(unix.Mkdirat(int(at.Fd()), "deep", 0o755))
		fd, err := unix.Openat(int(at.Fd()), "deep", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		d.must(err)
		at.Close()
		at = os.NewFile(uintptr(fd), "deep")
	}
	at.Close()
	d.isEmpty(d.empty(Bounds{}))
}

// TestEmptyOfManyEntries: a directory with more of them than are read at once, at the top and below.
func TestEmptyOfManyEntries(t *testing.T) {
	d := newDoomed(t)
	for i := range 3 * pageOfNames {
		plant(t, d.path, strconv.Itoa(i), "below/"+strconv.Itoa(i), "each/"+strconv.Itoa(i)+"/x")
	}
	d.isEmpty(d.empty(Bounds{}))
}

// TestEmptyGoesOn: one that reached a bound, again and again, comes to its end.
func TestEmptyGoesOn(t *testing.T) {
	d := newDoomed(t)
	for i := range 300 {
		plant(t, d.path, "a/b/c"+strconv.Itoa(i)+"/d")
	}
	const step = 50
	rounds := 0
	for e := (Emptied{Stopped: true}); e.Stopped; rounds++ {
		if e = d.empty(Bounds{Entries: step}); e.Removed > step {
			t.Fatalf("one round has removed %d entries", e.Removed)
		}
		if rounds > 100 {
			t.Fatal("it comes to no end")
		}
	}
	if rounds < 600/step {
		t.Errorf("it took %d rounds of %d entries", rounds, step)
	}
	d.isEmpty(Emptied{})
}

// TestEmptyCrossesNoMount: what is mounted in it stays, with all directories above it.
func TestEmptyCrossesNoMount(t *testing.T) {
	d := newDoomed(t)
	plant(t, d.path, "a/file", "other")
	for _, at := range []string{"a/mount", "mount"} {
		target := filepath.Join(d.path, at)
		d.must(os.Mkdir(target, 0o755))
		if err := unix.Mount(d.beside, target, "", unix.MS_BIND, ""); err != nil {
			missing.Skip(t, "nothing can be mounted here: ", err)
		}
		t.Cleanup(func() {
			mounts, _ := os.ReadFile("/proc/self/mountinfo")
			for _, line := range strings.Split(string(mounts), "\n") {
				if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], d.path) {
					_ = unix.Unmount(f[4], unix.MNT_DETACH)
				}
			}
		})
	}
	if e := d.empty(Bounds{}); e.Left == 0 || e.Removed != 2 {
		t.Errorf("it says %+v", e)
	}
}

// TestEmptyIsOfWhatIsMeant: a directory that was put in its place is not touched.
func TestEmptyIsOfWhatIsMeant(t *testing.T) {
	d := newDoomed(t)
	plant(t, d.path, "file")
	held, err := os.Open(d.path)
	d.must(err)
	defer held.Close()
	was, err := inode.Of(held)
	d.must(err)
	d.must(unix.Renameat2(unix.AT_FDCWD, d.path, unix.AT_FDCWD, d.beside, unix.RENAME_EXCHANGE))
	meant := errors.New("it is another")
	_, err = Empty(t.Context(), d.parent, "doomed", func(pin *os.File) error {
		is, err := inode.Of(pin)
		if err == nil && !is.Same(was) {
			err = meant
		}
		return err
	}, Bounds{})
	if !errors.Is(err, meant) {
		t.Errorf("another directory was taken for it: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(d.path, "precious")); err != nil || string(data) != "kept" {
		t.Errorf("what was put in its place has lost its file: %v", err)
	}
	for _, lie := range []string{d.beside, "/"} {
		link := filepath.Join(filepath.Dir(d.path), "lie")
		d.must(os.Symlink(lie, link))
		if _, err := Empty(t.Context(), d.parent, "lie", anyDirectory, Bounds{}); err == nil {
			t.Errorf("a link to %s was followed", lie)
		}
		d.must(os.Remove(link))
	}
}

// TestEmptyWhileNamesAreExchanged: links and directories take turns at one name, in it and below it.
func TestEmptyWhileNamesAreExchanged(t *testing.T) {
	d := newDoomed(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			x := filepath.Join(d.path, "x", strconv.Itoa(i%3))
			_ = os.MkdirAll(filepath.Join(x, "sub", "sub"), 0o755)
			_ = os.WriteFile(filepath.Join(x, "sub", "file"), nil, 0o644)
			_ = os.Symlink(d.beside, x+".link")
			_ = unix.Renameat2(unix.AT_FDCWD, x, unix.AT_FDCWD, x+".link", unix.RENAME_EXCHANGE)
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(x, "sub"), unix.AT_FDCWD, x+".link", unix.RENAME_EXCHANGE)
		}
	}()
	var removed int64
	for removed < 3_000 && ctx.Err() == nil {
		removed += d.empty(Bounds{Entries: 1000}).Removed
	}
	cancel()
	<-done
	d.isEmpty(d.empty(Bounds{}))
}

// TestEmptyHasNoMoreRightsThanItsUser: what root and another user have put there, shut, stays for an ordinary user.
func TestEmptyHasNoMoreRightsThanItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can become another user")
	}
	d := newDoomed(t)
	const user = 54321
	plant(t, d.path, "own/file", "roots/secret/file")
	for path := filepath.Dir(d.path); path != "/"; path = filepath.Dir(path) {
		d.must(os.Chmod(path, 0o755))
		if filepath.Dir(path) == os.TempDir() {
			break
		}
	}
	for _, path := range []string{"", "own", "own/file"} {
		d.must(os.Chown(filepath.Join(d.path, path), user, user))
	}
	d.must(os.Chmod(filepath.Join(d.path, "roots/secret"), 0o700))
	ended := make(chan Emptied)
	go func() {
		// The thread is the user's for files, and is never another's again.
		runtime.LockOSThread()
		if err := unix.Setfsuid(user); err != nil {
			t.Error(err)
		}
		e, err := Empty(context.Background(), d.parent, "doomed", anyDirectory, Bounds{})
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	if e := <-ended; e.Left == 0 {
		t.Errorf("it says %+v", e)
	}
	if _, err := os.Stat(filepath.Join(d.path, "roots/secret/file")); err != nil {
		t.Errorf("root's file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.path, "own")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its own directory is left: %v", err)
	}
}
