package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/internal/trust"
)

const (
	maxText    = 64 << 10
	maxCommand = 30 * time.Second
)

// place is where the text of a secret is. Its String is for errors.
type place interface {
	fmt.Stringer
	read(ctx context.Context) (string, error)
	costs() bool
}

// file is a place that is read each time.
type file string

func (f file) String() string { return string(f) }
func (f file) costs() bool    { return false }

func (f file) read(context.Context) (string, error) {
	opened, err := trust.Places().OpenFile(string(f))
	if err != nil {
		return "", err
	}
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Mode().Perm()&0o007 != 0:
		return "", fmt.Errorf("%s may be read by everybody (mode %04o); chmod 600 %s", f, info.Mode().Perm(), f)
	}
	if err := trust.Places().CheckFile(string(f), info); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(opened, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s is larger than %d bytes", f, maxText)
	}
	return string(text), err
}

// command is a program that prints a secret.
type command []string

func (c command) String() string { return "the command " + c[0] }
func (c command) costs() bool    { return true }

// read runs the command once, in a process group of its own. If it takes too long or prints too much, read kills the
// whole group.
func (c command) read(ctx context.Context) (string, error) {
	if err := c.held(); err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, maxCommand)
	defer stop()
	out := &bounded{most: maxText, full: stop}
	run := exec.CommandContext(ctx, c[0], c[1:]...)
	run.Env = environment()
	run.Dir = "/"
	run.Stdout = out
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = time.Second
	err := run.Run()
	switch {
	case out.over:
		return "", fmt.Errorf("%s prints more than %d bytes", c, maxText)
	case ctx.Err() != nil:
		return "", passing(fmt.Errorf("%s has not ended within %s", c, maxCommand))
	case run.ProcessState != nil && err != nil:
		return "", passing(fmt.Errorf("%s: %w", c, err)) // the status only; the output may hold the secret
	case err != nil:
		return "", fmt.Errorf("%s: %w", c, err)
	}
	return string(out.kept), nil
}

// held refuses a command if another user could replace its program, or a file that an argument names. The program runs
// under its own name, because some programs choose their action by that name.
func (c command) held() error {
	for i, word := range c {
		if !filepath.IsAbs(word) {
			continue
		}
		_, err := trust.Places().Follow(word)
		if _, loose := errors.AsType[*trust.Error](err); loose || err != nil && i == 0 {
			return err
		}
	}
	return nil
}

// environment returns the variables that a program needs to find its own files when it fetches secrets.
func environment() []string {
	var env []string
	for _, name := range []string{"HOME", "LANG", "LOGNAME", "PATH", "USER", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// bounded keeps output up to a bound, and reports when there is more. It has no ReadFrom, because that would read
// without a bound.
type bounded struct {
	kept []byte
	most int
	full func()
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.kept)+len(p) > b.most {
		b.over = true
		b.full()
		return 0, errors.New("too much")
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// printed reads a command's output: the secret, or an object that tells when it expires.
func printed(text string) (string, until, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return text, until{time.Now().Add(stay)}, nil
	}
	var said struct {
		Value   string    `json:"value"`
		Expires time.Time `json:"expires"`
	}
	if json.Unmarshal([]byte(text), &said) != nil {
		return "", until{}, errors.New(`the command printed an object that is not {"value": "…", "expires": "2026-01-02T15:04:05Z"}`)
	}
	return said.Value, keepUntil(said.Expires), nil
}

// keepUntil returns the time a margin before end, or in ten minutes if end is unknown.
func keepUntil(end time.Time) until {
	if end.IsZero() {
		return until{time.Now().Add(stay)}
	}
	return until{end.Add(-margin)}
}
