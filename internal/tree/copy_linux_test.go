package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/test/swap"

	"golang.org/x/sys/unix"

	"torno/test/disk"
	"torno/test/missing"
)

// copyScene is a directory that is copied, and where to.
type copyScene struct {
	*testing.T
	from, to string
}

func newCopyScene(t *testing.T) *copyScene {
	t.Helper()
	s := &copyScene{t, filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")}
	s.must(errors.Join(os.Mkdir(s.from, 0o755), os.Mkdir(s.to, 0o755)))
	return s
}

func (s *copyScene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *copyScene) write(path, content string, perm os.FileMode) {
	s.Helper()
	at := filepath.Join(s.from, path)
	s.must(errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), perm), os.Chmod(at, perm)))
}

func (s *copyScene) copy(ctx context.Context, bounds CopyBounds) (Copied, error) {
	s.Helper()
	from, err := os.Open(s.from)
	s.must(err)
	defer from.Close()
	d, err := Reopen(from)
	s.must(err)
	defer d.Close()
	to, err := os.Open(s.to)
	s.must(err)
	defer to.Close()
	return d.CopyTo(ctx, to, bounds)
}

// names are the paths in the copy.
func (s *copyScene) names() (all []string) {
	s.Helper()
	s.must(filepath.WalkDir(s.to, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.to, path); rel != "." {
			all = append(all, rel)
		}
		return err
	}))
	return all
}

func (s *copyScene) left(c Copied, path, why string) {
	s.Helper()
	if !slices.ContainsFunc(c.Left, func(l LeftOut) bool { return l.Path == path && strings.Contains(l.Why, why) }) {
		s.Errorf("%s is not said to be left out because %q: %+v", path, why, c.Left)
	}
}

// TestACopyIsWhatOrdinaryFilesAre: content, modes without set-id bits, times, links as links, names of one file as files of their own.
func TestACopyIsWhatOrdinaryFilesAre(t *testing.T) {
	s := newCopyScene(t)
	s.write("dir/run", "#!/bin/sh\n", 0o755)
	s.must(os.Chmod(filepath.Join(s.from, "dir/run"), 0o755|os.ModeSetuid|os.ModeSetgid))
	old := time.Unix(1_000_000_000, 0)
	s.must(os.Chtimes(filepath.Join(s.from, "dir/run"), old, old))
	s.write("shared", "twice", 0o644)
	s.must(os.Link(filepath.Join(s.from, "shared"), filepath.Join(s.from, "again")))
	s.must(os.Symlink("/etc/passwd", filepath.Join(s.from, "link")))
	s.must(unix.Mkfifo(filepath.Join(s.from, "fifo"), 0o600))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	s.must(err)
	defer unix.Close(fd)
	s.must(unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(s.from, "sock")}))
	c, err := s.copy(t.Context(), CopyBounds{})
	s.must(err)
	if got := strings.Join(s.names(), " "); got != "again dir dir/run link shared" {
		t.Errorf("the copy has %s", got)
	}
	info, err := os.Stat(filepath.Join(s.to, "dir/run"))
	s.must(err)
	if info.Mode() != 0o755 || !info.ModTime().Equal(old) {
		t.Errorf("the mode is %v, the time %v", info.Mode(), info.ModTime())
	}
	if target, err := os.Readlink(filepath.Join(s.to, "link")); err != nil || target != "/etc/passwd" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	s.must(os.WriteFile(filepath.Join(s.to, "shared"), []byte("changed"), 0o644))
	for _, path := range []string{filepath.Join(s.from, "shared"), filepath.Join(s.to, "again")} {
		if data, err := os.ReadFile(path); err != nil || string(data) != "twice" {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
	}
	s.left(c, "fifo", "neither")
	s.left(c, "sock", "neither")
	if c.Files != 3 || c.Directories != 1 || c.Links != 1 || c.LeftCount != 2 {
		t.Errorf("it says %+v", c)
	}
}

// TestTimesStay: also those that are more nanoseconds from 1970 than a number of 64 bits can say.
func TestTimesStay(t *testing.T) {
	s := newCopyScene(t)
	s.write("file", "x", 0o644)
	for _, year := range []int{1902, 2026, 2400} {
		at := time.Date(year, 1, 2, 3, 4, 5, 0, time.UTC)
		s.must(os.Chtimes(filepath.Join(s.from, "file"), at, at))
		there, err := os.Stat(filepath.Join(s.from, "file"))
		s.must(err)
		_, err = s.copy(t.Context(), CopyBounds{})
		s.must(err)
		made, err := os.Stat(filepath.Join(s.to, "file"))
		s.must(err)
		if !made.ModTime().Equal(there.ModTime()) {
			t.Errorf("a file of %s became one of %s", there.ModTime(), made.ModTime())
		}
		s.must(os.Remove(filepath.Join(s.to, "file")))
	}
}

// TestHolesStayHoles: a file that says it holds a terabyte takes what it holds.
func TestHolesStayHoles(t *testing.T) {
	s := newCopyScene(t)
	f, err := os.Create(filepath.Join(s.from, "sparse"))
	s.must(err)
	const size = 1 << 40
	_, err = f.WriteAt([]byte("middle"), size/2)
	s.must(errors.Join(err, f.Truncate(size), f.Close()))
	c, err := s.copy(t.Context(), CopyBounds{Bytes: 1 << 20, Time: time.Minute})
	s.must(err)
	var st unix.Stat_t
	s.must(unix.Stat(filepath.Join(s.to, "sparse"), &st))
	if st.Size != size || st.Blocks*512 > 1<<20 || c.Bytes > 1<<20 {
		t.Errorf("it is %d bytes long and takes %d; %d are counted", st.Size, st.Blocks*512, c.Bytes)
	}
	r, err := os.Open(filepath.Join(s.to, "sparse"))
	s.must(err)
	defer r.Close()
	got := make([]byte, 6)
	if _, err := r.ReadAt(got, size/2); err != nil || string(got) != "middle" {
		t.Errorf("in the middle there is %q, %v", got, err)
	}
}

// TestAFileSystemThatClonesGivesNoRoomAway: XFS shares the blocks, and what is written to the copy is the copy's alone.
func TestAFileSystemThatClonesGivesNoRoomAway(t *testing.T) {
	dir := disk.New(t, 320<<20, "mkfs.xfs", "-q", "-m", "reflink=1")
	s := &copyScene{t, filepath.Join(dir, "from"), filepath.Join(dir, "to")}
	s.must(errors.Join(os.Mkdir(s.from, 0o755), os.Mkdir(s.to, 0o755)))
	content := strings.Repeat("a line of a file that is long\n", 1<<20)
	s.write("long", content, 0o644)
	room := func() uint64 {
		unix.Sync()
		var st unix.Statfs_t
		s.must(unix.Statfs(dir, &st))
		return st.Bfree * uint64(st.Bsize) //nolint:gosec // no size is negative
	}
	before := room()
	copied, err := s.copy(t.Context(), CopyBounds{})
	s.must(err)
	if taken := before - min(before, room()); copied.Cloned != 1 || taken > uint64(len(content))/8 {
		t.Errorf("%d of 1 file were cloned, and %d bytes taken for %d", copied.Cloned, taken, len(content))
	}
	made := filepath.Join(s.to, "long")
	if got, err := os.ReadFile(made); err != nil || string(got) != content {
		t.Errorf("the copy has %d bytes of %d: %v", len(got), len(content), err)
	}
	s.must(os.WriteFile(made, []byte("the child's"), 0o600))
	if got, err := os.ReadFile(filepath.Join(s.from, "long")); err != nil || string(got) != content {
		t.Errorf("what was copied has %d bytes of %d: %v", len(got), len(content), err)
	}
}

// TestACopyIsBounded by everything that a stranger can make large.
func TestACopyIsBounded(t *testing.T) {
	over := errors.New("the disk is full")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, step := range map[string]struct {
		ctx    context.Context
		bounds CopyBounds
		want   string
	}{
		"bytes":     {t.Context(), CopyBounds{Bytes: 4096}, "more than 4096 bytes"},
		"entries":   {t.Context(), CopyBounds{Entries: 10}, "more than 10 entries"},
		"time":      {t.Context(), CopyBounds{Time: 1}, "longer than 1ns"},
		"processor": {t.Context(), CopyBounds{Processor: 1}, "of a processor"},
		"room":      {t.Context(), CopyBounds{Room: func(Space) error { return over }}, over.Error()},
		"cancel":    {cancelled, CopyBounds{}, context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCopyScene(t)
			for i := range 2 * checkEvery {
				s.write(strings.Repeat("f", i+1), strings.Repeat("x", 1000), 0o644)
			}
			if _, err := s.copy(step.ctx, step.bounds); err == nil || !strings.Contains(err.Error(), step.want) {
				t.Errorf("it says %v", err)
			}
			if n := len(s.names()); n >= 2*checkEvery {
				t.Errorf("%d files were copied", n)
			}
		})
	}
}

// TestAFileThatGrowsIsCopiedOnce: up to where it ended when it was looked at.
func TestAFileThatGrowsIsCopiedOnce(t *testing.T) {
	s := newCopyScene(t)
	s.write("log", strings.Repeat("x", 8<<20), 0o644)
	f, err := os.OpenFile(filepath.Join(s.from, "log"), os.O_WRONLY|os.O_APPEND, 0)
	s.must(err)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for chunk := make([]byte, 1<<20); ; {
			select {
			case <-stop:
				return
			default:
			}
			if info, err := f.Stat(); err != nil || info.Size() > 512<<20 {
				_ = f.Truncate(8 << 20)
			}
			_, _ = f.Write(chunk)
		}
	}()
	_, err = s.copy(t.Context(), CopyBounds{Bytes: 1 << 30})
	close(stop)
	<-done
	s.must(errors.Join(err, f.Close()))
	if info, err := os.Stat(filepath.Join(s.to, "log")); err != nil || info.Size() > 513<<20 {
		t.Errorf("the copy is %v, %v", info, err)
	}
}

// TestAGitDirectoryComesWithoutItsSettings: history and state are there, and nothing that git obeys or that leads out of it.
func TestAGitDirectoryComesWithoutItsSettings(t *testing.T) {
	s := newCopyScene(t)
	for _, path := range []string{".git/", "vendored.git/", "deep/.GIT/"} {
		s.write(path+"HEAD", "ref: refs/heads/main\n", 0o644)
		s.write(path+"refs/heads/main", "0123\n", 0o644)
		s.write(path+"objects/ab/cd", "blob", 0o444)
		s.write(path+"objects/info/alternates", "/srv/secret/objects\n", 0o644)
		s.write(path+"objects/info/http-alternates", "http://there/\n", 0o644)
		s.write(path+"index", "DIRC", 0o644)
		s.write(path+"config", "[includeIf \"gitdir:/\"]\n path = /tmp/x\n[remote \"o\"]\n url = https://me:secret@host\n[core]\n fsmonitor = /tmp/evil\n hooksPath = h\n", 0o644)
		for _, other := range []string{"config.worktree", "hooks/post-checkout", "worktrees/w/gitdir", "modules/m/config", "commondir", "info/attributes", "gitdir", "new-in-git-9"} {
			s.write(path+other, "evil", 0o755)
		}
		s.must(os.Symlink("/srv/secret", filepath.Join(s.from, path, "objects/pack")))
	}
	for _, part := range []string{"HEAD", "commondir", "config", "hooks/post-checkout"} { // its objects and refs are elsewhere
		s.write("linked.bare/"+part, "../vendored.git", 0o755)
	}
	s.write("worktree/.git", "gitdir: /home/me/repo/.git/worktrees/x\n", 0o644)
	s.must(errors.Join(os.Mkdir(filepath.Join(s.from, "linked"), 0o755), os.Symlink("../.git", filepath.Join(s.from, "linked/.git"))))
	s.write(".hg/hgrc", "[hooks]\n", 0o644)
	c, err := s.copy(t.Context(), CopyBounds{})
	s.must(err)
	var want []string
	for _, top := range []string{".git", "deep/.GIT", "vendored.git"} {
		for _, part := range []string{"", "/HEAD", "/config", "/index", "/objects", "/objects/ab", "/objects/ab/cd", "/refs", "/refs/heads", "/refs/heads/main"} {
			want = append(want, top+part)
		}
	}
	want = append(want, "deep", "linked", "linked.bare", "linked.bare/HEAD", "linked.bare/config", "worktree")
	slices.Sort(want)
	got := s.names()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the copy has\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for top, bare := range map[string]string{".git": "false", "vendored.git": "true", "linked.bare": "true"} {
		settings, err := os.ReadFile(filepath.Join(s.to, top, "config"))
		if err != nil || strings.Contains(string(settings), "secret") || !strings.Contains(string(settings), "bare = "+bare) {
			t.Errorf("%s has settings %q, %v", top, settings, err)
		}
	}
	for _, path := range []string{"worktree/.git", "linked/.git", ".git/objects/pack"} {
		s.left(c, path, "elsewhere")
	}
	s.left(c, ".hg", "hooks")
	if c.Git != 4 {
		t.Errorf("%d git directories are counted", c.Git)
	}
}

// TestACopyHasNoMoreRightsThanTheOwner: root's files and others' closed ones stay behind, and hard links to them.
func TestACopyHasNoMoreRightsThanTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "to give files to others takes root")
	}
	secret := func(s *copyScene, uid int) {
		host := filepath.Join(filepath.Dir(s.from), "host-secret")
		s.must(errors.Join(os.WriteFile(host, []byte("key"), 0o600), os.Chown(host, uid, uid), os.Link(host, filepath.Join(s.from, "hard"))))
		s.write("shut/inner", "key", 0o644)
		s.must(errors.Join(os.Chown(filepath.Join(s.from, "shut"), uid, uid), os.Chmod(filepath.Join(s.from, "shut"), 0o700)))
		s.write("open", "said", 0o644)
	}
	check := func(s *copyScene, c Copied, err error) {
		s.Helper()
		s.must(err)
		if got := strings.Join(s.names(), " "); got != "open" {
			s.Errorf("the copy has %s", got)
		}
		s.left(c, "hard", "rights")
		s.left(c, "shut", "rights")
	}
	t.Run("an ordinary owner", func(t *testing.T) {
		s := newCopyScene(t)
		secret(s, 0)
		s.must(errors.Join(os.Chown(s.from, 1000, 1000), os.Chown(s.to, 1000, 1000)))
		for at := filepath.Dir(s.to); at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
			s.must(os.Chmod(at, 0o755))
		}
		c, err := s.copy(t.Context(), CopyBounds{As: asUser(1000)})
		check(s, c, err)
		var st unix.Stat_t
		s.must(unix.Stat(filepath.Join(s.to, "open"), &st))
		if st.Uid != 1000 {
			t.Errorf("the copy belongs to %d", st.Uid)
		}
	})
	t.Run("root as an owner", func(t *testing.T) {
		s := newCopyScene(t)
		secret(s, 1000)
		c, err := s.copy(t.Context(), CopyBounds{})
		check(s, c, err)
	})
}

// asUser gives the thread a user's rights to files.
func asUser(id int) func(func() error) error {
	return func(do func() error) error {
		_, err := unix.SetfsgidRetGid(id)
		_, err2 := unix.SetfsuidRetUid(id)
		defer func() { _, _ = unix.SetfsuidRetUid(0); _, _ = unix.SetfsgidRetGid(0) }()
		return errors.Join(err, err2, do())
	}
}

// TestNamesThatAreExchangedLeadNowhere: while a tree is copied, files and directories of it become links to what lies outside, FIFOs
// that block, and back.
func TestNamesThatAreExchangedLeadNowhere(t *testing.T) {
	s := newCopyScene(t)
	outside := filepath.Join(filepath.Dir(s.from), "outside")
	s.must(errors.Join(os.MkdirAll(filepath.Join(outside, "dir"), 0o755), os.WriteFile(filepath.Join(outside, "file"), []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(outside, "dir", "file"), []byte("secret"), 0o644)))
	s.write("a/file", "mine", 0o644)
	s.write("b/file", "mine", 0o644)
	s.must(errors.Join(os.Symlink(filepath.Join(outside, "dir"), filepath.Join(s.from, "dirlink")),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(s.from, "b", "filelink")), unix.Mkfifo(filepath.Join(s.from, "b", "fifo"), 0o644)))
	in := func(name string) string { return filepath.Join(s.from, name) }
	defer swap.Names(t, [2]string{in("a"), in("dirlink")}, [2]string{in("b/file"), in("b/filelink")}, [2]string{in("b/file"), in("b/fifo")})()
	for range 100 {
		s.must(errors.Join(os.RemoveAll(s.to), os.Mkdir(s.to, 0o755)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := s.copy(ctx, CopyBounds{})
		cancel()
		s.must(err)
		s.must(filepath.WalkDir(s.to, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if string(data) != "mine" {
				t.Fatalf("%s holds %q, %v", path, data, err)
			}
			return err
		}))
	}
}
