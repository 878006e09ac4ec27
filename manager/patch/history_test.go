package patch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/test/missing"
	"torno/test/wait"
)

// newHistory makes a scene whose origin is a repository: three commits of f on main, another branch, a stash, a remote, hooks, and changes that are not
// committed.
func newHistory(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q", "-b", "main")
	write(t, s.ours("gone"), "gone\n")
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		write(t, s.ours("f"), text)
		s.git(s.origin, "add", ".")
		s.git(s.origin, "commit", "-q", "-m", "says "+strings.TrimSpace(text))
	}
	s.git(s.origin, "checkout", "-q", "-b", "private")
	write(t, s.ours("key"), "of a branch\n")
	s.git(s.origin, "add", ".")
	s.git(s.origin, "commit", "-q", "-m", "private")
	s.git(s.origin, "checkout", "-q", "main")
	write(t, s.ours("f"), "stashed\n")
	s.git(s.origin, "stash")
	s.git(s.origin, "remote", "add", "origin", "https://user:password@example.com/x")
	s.git(s.origin, "config", "core.hooksPath", "hooks")
	for _, name := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		write(t, s.ours(".git/hooks/"+name), "#!/bin/sh\ntouch "+s.dir+"/hook-ran\n")
		s.must(os.Chmod(s.ours(".git/hooks/"+name), 0o755))
	}
	s.git(s.origin, "config", "--unset", "core.hooksPath")
	write(t, s.ours("f"), "dirty\n")
	s.must(os.Remove(s.ours("gone")))
	return s
}

// copyWith makes a new workspace of a directory.
func (s *scene) copyWith(id, origin string, how How) (workspace string, r Report) {
	s.Helper()
	workspace = filepath.Join(s.dir, "outbox/workspaces", id)
	s.must(os.MkdirAll(workspace, 0o755))
	r, err := s.store.Copy(s.Context(), origin, Destination{
		Subagent: id, Path: workspace, Answer: "answer.txt", Root: s.open(workspace), UID: os.Getuid(), GID: os.Getgid(),
	}, how)
	s.must(err)
	return workspace, r
}

// TestACopyHasARepositoryOfItsOwn: the parent's commits and its working tree, and nothing else of its repository.
func TestACopyHasARepositoryOfItsOwn(t *testing.T) {
	s := newHistory(t)
	private := s.git(s.origin, "rev-parse", "private")
	stash := s.git(s.origin, "rev-parse", "stash")
	to, r := s.copyWith("c", s.origin, How{Limits: DefaultLimits, History: AllHistory})
	if r.Repository != (Repository{Branch: "main", Commits: 3}) || r.Git != 0 {
		t.Errorf("it says %+v", r)
	}
	for _, c := range [][2]string{
		{"log --format=%s", "says 3\nsays 2\nsays 1"},
		{"status --porcelain", " M f\n D gone"},
		{"branch --all --format=%(refname)", "refs/heads/main"},
		{"remote", ""},
		{"stash list", ""},
		{"reflog", ""},
		{"fsck --unreachable --no-reflogs", ""},
		{"blame -s f", "00000000 1) dirty"},
	} {
		if got := s.git(to, strings.Fields(c[0])...); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
	for _, lost := range []string{private, stash} {
		if err := exec.Command("git", "-C", to, "cat-file", "-e", lost).Run(); err == nil {
			t.Errorf("it has %s", lost)
		}
	}
	s.must(filepath.WalkDir(to+"/.git", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "password") || strings.Contains(string(text), s.origin) || strings.Contains(path, "/hooks/") || strings.Contains(path, "alternates") {
			t.Errorf("there is %s: %.200q", path, text)
		}
		return err
	}))
	if _, err := os.Lstat(s.dir + "/hook-ran"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a hook of the parent's ran")
	}
	if out, err := exec.Command("git", "-C", to, "commit", "-qam", "the child's").CombinedOutput(); err != nil {
		t.Errorf("the child cannot commit: %v, %s", err, out)
	}
	s.must(os.MkdirAll(to+"/own/.git", 0o755))
	work, err := s.store.Take(t.Context(), "c", s.open(to), Selection{})
	s.must(err)
	defer work.Close()
	if work.Git != 1 || len(work.Changes) != 1 || work.Changes[0].Path != "own" {
		t.Errorf("of its work it says %d git directories, %+v", work.Git, work.Changes)
	}
}

// TestHowMuchHistory: as many commits as are wanted, of each kind of work tree, and none where they take too much.
func TestHowMuchHistory(t *testing.T) {
	s := newHistory(t)
	s.git(s.origin, "worktree", "add", "-q", s.dir+"/worktree", "private")
	s.git(s.dir, "clone", "-q", "--depth=1", "file://"+s.origin, s.dir+"/shallow")
	s.git(s.dir, "clone", "-q", "--shared", s.origin, s.dir+"/alternates")
	s.git(s.dir, "clone", "-q", s.origin, s.dir+"/a %41 space")
	s.git(s.dir, "clone", "-q", s.origin, s.dir+"/detached")
	s.git(s.dir+"/detached", "checkout", "-q", "--detach", "HEAD~1")
	s.git(s.dir, "init", "-q", s.dir+"/unborn")
	s.git(s.dir, "init", "-q", s.dir+"/outer")
	s.git(s.dir+"/outer", "commit", "-q", "--allow-empty", "-m", "outer")
	s.must(os.MkdirAll(s.dir+"/outer/broken/.git", 0o755))
	s.must(os.MkdirAll(s.dir+"/outer/below", 0o755))
	s.git(s.origin, "tag", "main") // a short name would mean both
	write(t, s.origin+"/safe.directory=a", "f")
	write(t, s.origin+"/safe.directory=b", "f")
	small := Limits{Files: 100, Bytes: 600}
	for i, c := range []struct {
		dir     string
		limits  Limits
		history History
		want    Repository
	}{
		{"origin", DefaultLimits, 2, Repository{Branch: "main", Commits: 2}},
		{"origin", DefaultLimits, DefaultHistory, Repository{Branch: "main", Commits: 3}},
		{"origin", DefaultLimits, NoHistory, Repository{}},
		{"origin", small, AllHistory, Repository{Missing: "*"}},
		{"worktree", DefaultLimits, AllHistory, Repository{Branch: "private", Commits: 4}},
		{"shallow", DefaultLimits, AllHistory, Repository{Branch: "main", Commits: 1}},
		{"shallow", DefaultLimits, DefaultHistory, Repository{Branch: "main", Commits: 1}},
		{"alternates", DefaultLimits, AllHistory, Repository{Branch: "main", Commits: 3}},
		{"a %41 space", DefaultLimits, 1, Repository{Branch: "main", Commits: 1}},
		{"detached", DefaultLimits, AllHistory, Repository{Branch: "detached", Commits: 2}},
		{"unborn", DefaultLimits, AllHistory, Repository{Missing: "*"}},
		{"outer/broken", DefaultLimits, AllHistory, Repository{Missing: "*"}},
		{"outer/below", DefaultLimits, AllHistory, Repository{}},
		{"of-a-child", DefaultLimits, AllHistory, Repository{Missing: "*"}},           // a work tree of a child's repository
		{"outbox/workspaces/ca", DefaultLimits, AllHistory, Repository{Missing: "*"}}, // a child's, which may have set what git runs
	} {
		if c.dir == "of-a-child" {
			s.git(s.dir+"/outbox/workspaces/ca", "worktree", "add", "-q", "-b", "review", s.dir+"/of-a-child")
		}
		to, r := s.copyWith("c"+string(rune('a'+i)), filepath.Join(s.dir, c.dir), How{Limits: c.limits, History: c.history})
		got := r.Repository
		if got.Missing != "" && c.want.Missing != "" {
			got.Missing = "*"
		}
		if got != c.want {
			t.Errorf("of %d commits of %s: %+v, want %+v", c.history, c.dir, r.Repository, c.want)
		}
		if _, err := os.Lstat(to + "/.git"); (err == nil) != (c.want.Branch != "") {
			t.Errorf("of %d commits of %s: %v", c.history, c.dir, err)
		}
	}
}

// TestTheEnvironmentMakesNoHistory: what it says to git of another repository, of settings and of hooks counts for nothing.
func TestTheEnvironmentMakesNoHistory(t *testing.T) {
	s := newHistory(t)
	s.git(s.dir, "init", "-q", s.dir+"/other")
	write(t, s.dir+"/home/.gitconfig", "[core]\n\thooksPath = "+s.ours(".git/hooks")+"\n[init]\n\ttemplateDir = "+s.ours(".git")+"\n[url \"file:///nowhere\"]\n\tinsteadOf = file://\n")
	t.Setenv("GIT_DIR", s.dir+"/other/.git")
	t.Setenv("GIT_TEMPLATE_DIR", s.ours(".git"))
	t.Setenv("GIT_OBJECT_DIRECTORY", s.dir+"/other/.git/objects")
	to, r := s.copyWith("c", s.origin, How{Limits: DefaultLimits, History: AllHistory})
	if r.Repository != (Repository{Branch: "main", Commits: 3}) {
		t.Errorf("it says %+v", r)
	}
	if _, err := os.Lstat(s.dir + "/hook-ran"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a hook ran")
	}
	if _, err := os.Lstat(to + "/.git/hooks"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there are hooks: %v", err)
	}
}

// TestARepositoryForAnotherOwner: the client is root, and the outbox and the parent's repository are other users'.
func TestARepositoryForAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can give files to others")
	}
	s := newHistory(t)
	const parent, owner = 12345, 12346
	s.must(filepath.WalkDir(s.origin, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, parent, parent))
	}))
	to := filepath.Join(s.dir, "outbox/workspaces/c")
	s.must(errors.Join(os.Mkdir(to, 0o755), os.Chown(to, owner, owner)))
	r, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "c", Path: to, Root: s.open(to), UID: owner, GID: owner}, DefaultHow)
	if err != nil || r.Repository != (Repository{Branch: "main", Commits: 3}) {
		t.Fatalf("it says %+v, %v", r, err)
	}
	s.must(filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != owner {
			t.Errorf("%s is not the owner's", path)
		}
		return err
	}))
}

// TestAFetchThatTakesTooLong leaves nothing, although what git has started writes on.
func TestAFetchThatTakesTooLong(t *testing.T) {
	s := newHistory(t)
	real, err := exec.LookPath("git")
	s.must(err)
	write(t, s.dir+"/bin/git", "#!/bin/sh\n[ \"$1\" = fetch ] || exec "+real+" \"$@\"\n(while :; do mkdir -p .git/objects/late; done) >"+s.dir+"/late & wait\n")
	s.must(syscall.Mkfifo(s.dir+"/late", 0o600))
	s.must(os.Chmod(s.dir+"/bin/git", 0o755))
	t.Setenv("PATH", s.dir+"/bin:"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	to := filepath.Join(s.dir, "outbox/workspaces/c")
	s.must(os.Mkdir(to, 0o755))
	copied, root := make(chan error, 1), s.open(to)
	go func() {
		_, err := s.store.Copy(ctx, s.origin, Destination{Subagent: "c", Path: to, Root: root, UID: os.Getuid(), GID: os.Getgid()}, DefaultHow)
		copied <- err
	}()
	helper, err := os.Open(s.dir + "/late") // when git has started it
	s.must(err)
	defer helper.Close()
	cancel()
	if err := <-copied; !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
	s.must(helper.SetReadDeadline(time.Now().Add(wait.Patience)))
	if _, err := io.ReadAll(helper); err != nil {
		t.Errorf("what git has started lives on: %v", err)
	}
	if _, err := os.Lstat(to + "/.git"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is half a repository: %v", err)
	}
}

// TestARepositoryThatLacksObjects: git runs a program that a partial clone names, to fetch what is missing. The oracle is git as it is.
func TestARepositoryThatLacksObjects(t *testing.T) {
	s := newHistory(t)
	commit := s.git(s.origin, "rev-parse", "HEAD")
	canary := s.dir + "/ran"
	s.git(s.origin, "config", "core.repositoryFormatVersion", "1")
	s.git(s.origin, "config", "extensions.partialClone", "o")
	s.git(s.origin, "config", "remote.o.url", s.dir)
	s.git(s.origin, "config", "remote.o.promisor", "true")
	s.git(s.origin, "config", "remote.o.uploadpack", "touch "+canary+"; false")
	s.must(os.Remove(s.ours(".git/objects/" + commit[:2] + "/" + commit[2:])))
	_, r := s.copyWith("c", s.origin, DefaultHow)
	if _, err := os.Lstat(canary); err == nil || r.Repository.Missing == "" {
		t.Errorf("it ran, or a repository was made: %v, %+v", err, r.Repository)
	}
	_ = exec.Command("git", "-C", s.origin, "rev-parse", "--verify", "HEAD^{commit}").Run()
	if _, err := os.Lstat(canary); err != nil {
		t.Errorf("nothing was tried: %v", err)
	}
}
