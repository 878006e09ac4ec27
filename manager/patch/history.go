package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// History says how many of the parent's commits a child's copy gets.
type History int

const (
	NoHistory      History = 0
	AllHistory     History = -1
	DefaultHistory History = 100
)

const gitDirectory = ".git"

// historyPatience bounds how long git may take to make a repository.
const historyPatience = 5 * time.Minute

// Repository describes the git repository that a copy got.
type Repository struct {
	Branch  string // "" for no repository
	Commits int
	Missing string // why the copy has none, although the parent has one and the child should have got it
}

// giveRepository makes a git repository in the workspace if the copied directory is the top of a git work tree. The
// repository gets the last commits of the parent's branch, under that branch's name, and the working tree as it was
// copied. The parent's git fetches the commits, so everything else stays behind: other branches, stashes, lost commits,
// remotes with their passwords, hooks, settings. Nobody reads the repository after the child had it.
//
// Git obeys some settings of the repository that it reads. So a copy of a directory in the outbox gets no repository:
// the directory's own may be a child's.
func (c *copying) giveRepository(s *Store, origin string, history History) (r Repository) {
	if _, err := os.Lstat(filepath.Join(origin, gitDirectory)); history == NoHistory || err != nil {
		return r
	}
	ctx, cancel := context.WithTimeout(c.ctx, historyPatience)
	defer cancel()
	r, err := c.makeRepository(ctx, s, origin, history)
	if err != nil {
		return Repository{Missing: err.Error()}
	}
	c.report.Git-- // the new one replaces the parent's
	return r
}

// makeRepository makes the repository in a directory beside the copied files, and moves it to its place when it is
// whole.
func (c *copying) makeRepository(ctx context.Context, s *Store, origin string, history History) (r Repository, err error) {
	if err := apart(origin, s.outbox); err != nil {
		return r, err
	}
	temp := ".torno-git-" + randomName()
	if err := c.to.Root.Mkdir(temp, 0o700); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.to.Root.RemoveAll(temp)) }()
	settings, err := s.gitSettings(c.to.Subagent)
	if err != nil {
		return r, err
	}
	env, left := append(ownEnvironment(settings), "GIT_CEILING_DIRECTORIES="+filepath.Dir(origin)), max(c.limits.Bytes-c.report.Bytes, 1)
	// In a partial clone git runs a program to fetch missing objects, and the repository names that program.
	offline := append(slices.Clone(env), "GIT_ALLOW_PROTOCOL=none")
	n := newRepository{ctx: ctx, from: git{dir: origin, env: offline}, to: git{dir: filepath.Join(c.to.Root.Name(), temp), env: env, fileSize: left}}
	if r, err = n.build(s.outbox, history); err != nil {
		return r, err
	}
	made := filepath.Join(temp, gitDirectory)
	if err := c.ownRepository(made, left); err != nil {
		return r, err
	}
	return r, c.to.Root.Rename(made, gitDirectory)
}

// gitSettings writes the only user settings that git gets, and returns their directory.
func (s *Store) gitSettings(subagent string) (dir string, err error) {
	const settings = `[safe]
	directory = *
[protocol "file"]
	allow = always
[core]
	logAllRefUpdates = false
	fsmonitor = false
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	unpackLimit = 1
[init]
	defaultObjectFormat = sha1
`
	return filepath.Join(s.path, subagent), s.replace(subagent, ".gitconfig", []byte(settings))
}

// ownEnvironment returns an environment for git: git reads settings only from home and from the repository, never
// prompts, and uses no network.
func ownEnvironment(home string) []string {
	env := environ(func(name string) bool {
		return strings.HasPrefix(name, "GIT_") || name == "HOME" || name == "XDG_CONFIG_HOME"
	})
	return append(env, "HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"),
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=file")
}

// uploadPack is the command that git runs in the parent's repository: offline, as above, and without grafts, which
// could lead to other branches.
const uploadPack = "GIT_ALLOW_PROTOCOL=none GIT_GRAFT_FILE=/dev/null git upload-pack"

// newRepository makes a repository from an earlier one.
type newRepository struct {
	ctx      context.Context
	from, to git
}

func (n *newRepository) git(g git, args ...string) (string, error) {
	answer, err := g.run(n.ctx, args...)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(answer), nil
}

func (n *newRepository) build(outbox string, history History) (r Repository, err error) {
	if _, err := n.from.checkApart(n.ctx, outbox); err != nil {
		return r, err
	}
	head, err := n.git(n.from, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return r, err
	}
	ref, err := n.git(n.from, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		ref = "refs/heads/detached"
	}
	r.Branch = strings.TrimPrefix(ref, "refs/heads/")
	init := []string{"init", "--quiet", "--template="}
	if len(head) == 64 {
		init = append(init, "--object-format=sha256")
	}
	url := url.URL{Scheme: "file", Path: n.from.dir}
	fetch := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--update-head-ok", "--upload-pack=" + uploadPack}
	if history == AllHistory {
		fetch = append(fetch, "--update-shallow")
	} else {
		fetch = append(fetch, fmt.Sprintf("--depth=%d", history))
	}
	for _, args := range [][]string{
		init,
		append(fetch, url.String(), "+HEAD:"+ref),
		{"symbolic-ref", "HEAD", ref},
		{"read-tree", "HEAD"},
		{"config", "user.name", "child"},
		{"config", "user.email", "child@localhost"},
	} {
		if _, err := n.git(n.to, args...); err != nil {
			return r, err
		}
	}
	count, err := n.git(n.to, "rev-list", "--count", "HEAD")
	if err != nil {
		return r, err
	}
	r.Commits, err = strconv.Atoi(count)
	return r, err
}

// ownRepository gives the new repository to the workspace's owner. It fails if the repository is too large. It removes
// FETCH_HEAD, which names the parent's directory.
func (c *copying) ownRepository(dir string, left int64) error {
	if err := c.to.Root.Remove(dir + "/FETCH_HEAD"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fs.WalkDir(c.to.Root.FS(), dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 {
			return fmt.Errorf("%w: the commits need more than the rest of the %d MiB", ErrTooMuch, c.limits.Bytes>>20)
		}
		return c.give(path)
	})
}
