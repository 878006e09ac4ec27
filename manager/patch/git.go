package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxGitAnswer bounds git's answer, in bytes.
const maxGitAnswer = 1 << 20

// git says where and how the parent's git runs.
type git struct {
	dir string
	env []string
	// fileSize bounds each file that git writes, in bytes; 0 means no bound.
	fileSize int64
	input    string // the text that git reads
	most     int    // bytes that its answer may have, if more than maxGitAnswer
}

// run runs git and returns its output. When ctx ends, run kills git and the helpers that git has started.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	if g.fileSize > 0 {
		bounded := append([]string{"-c", `ulimit -f "$0" && exec git "$@"`, strconv.FormatInt(max(g.fileSize/512, 1), 10)}, args...)
		cmd = exec.CommandContext(ctx, "sh", bounded...)
	}
	var answer, said bytes.Buffer
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.Stdin = strings.NewReader(g.input)
	cmd.Stdout, cmd.Stderr = &atMost{&answer, max(g.most, maxGitAnswer)}, &capped{to: &said, left: 1 << 10}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err != nil {
		err = &gitError{said.String(), err}
	}
	return answer.String(), err
}

// checkApart finds the directory's repository. It refuses a repository that lies in the outbox, wholly or in part: git
// obeys the settings of the repository, and a child may write them. It also refuses a repository whose work tree is
// elsewhere.
func (g git) checkApart(ctx context.Context, outbox string) (repository string, err error) {
	answer, err := g.run(ctx, "rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(answer, "\n"), "\n")
	if len(lines) != 3 || lines[0] != "true" {
		return "", errors.New("the directory is not in the work tree of its repository")
	}
	return lines[1], errors.Join(apart(lines[1], outbox), apart(from(withoutLinks(g.dir), lines[2]), outbox))
}

// gitError adds the first line of git's standard error to an error.
type gitError struct {
	said string
	err  error
}

func (e *gitError) Unwrap() error { return e.err }

func (e *gitError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.said), "\n")
	if line == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%v: %q", e.err, line)
}

// environ returns the environment without some variables.
func environ(without func(name string) bool) []string {
	return slices.DeleteFunc(os.Environ(), func(set string) bool {
		name, _, _ := strings.Cut(set, "=")
		return without(name)
	})
}

// anyOwner lets git read the settings of a repository that belongs to another user than the user of the client. Git
// must read no objects with it: to fetch a missing object it runs a program that the repository names.
const anyOwner = "safe.directory=*"

// atMost passes on at most left bytes, and fails if there are more.
type atMost struct {
	to   *bytes.Buffer
	left int
}

func (m *atMost) Write(p []byte) (int, error) {
	if m.left -= len(p); m.left < 0 {
		return 0, errors.New("git's answer is too long")
	}
	return m.to.Write(p)
}
