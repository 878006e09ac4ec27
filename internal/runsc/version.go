package runsc

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	// Pinned is the version that "make build" builds, taken from runsc/go.mod.
	Pinned = "v0.0.0-20260905035102-160fafc42237"

	// oldest is the date of the oldest sources that may be used. Earlier ones let a sandbox open any character device
	// of the host if it finds a node for it (CVE-2026-96812), or read files with runsc's own rights (CVE-2025-2713).
	oldest = "2026-09-05"
)

const (
	// answerTime allows for a machine that has just started, is busy with other programs, and reads this program from a
	// slow disk. A program that hangs is still found.
	answerTime = 30 * time.Second
	answerSize = 4 << 10
)

// Version is the answer of a program to --version.
type Version struct {
	Text string
	Date time.Time // the date of its sources
}

// Warning returns a warning if the version may be used but was never tested; otherwise "".
func (v Version) Warning() string {
	if v.Text == Pinned {
		return ""
	}
	return fmt.Sprintf("runsc is version %s; the tested version is %s", v.Text, Pinned)
}

// Version asks the program for its version. If the version may not be used, Version returns an error.
func (p Program) Version(ctx context.Context) (Version, error) {
	said, err := p.ask(ctx)
	if err != nil {
		return Version{}, err
	}
	text, ok := strings.CutPrefix(firstLine(said), "runsc version ")
	if !ok {
		return Version{}, &Error{Reason: Foreign, Path: p.Path, What: fmt.Sprintf("is not gVisor's runsc: asked for its version, it says %.80q", firstLine(said))}
	}
	v := Version{Text: strings.TrimSpace(text)}
	if v.Date, ok = dateOf(v.Text); !ok {
		return Version{}, &Error{Reason: TooOld, Path: p.Path, What: fmt.Sprintf("has a version that does not tell its age (%.80q)", v.Text)}
	}
	if v.Date.Format(time.DateOnly) < oldest {
		what := fmt.Sprintf("is from %s (version %.80q); runsc from before %s has known security holes", v.Date.Format(time.DateOnly), v.Text, oldest)
		return Version{}, &Error{Reason: TooOld, Path: p.Path, What: what}
	}
	return v, nil
}

// ask executes the program with an empty environment. At the timeout it kills everything that the program has started.
func (p Program) ask(ctx context.Context) (string, error) {
	patience := p.patience
	if patience == 0 {
		patience = answerTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out, complaint head
	cmd := exec.CommandContext(ctx, p.Path, "--version")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{}, "/", &out, &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", &Error{Reason: Mute, Path: p.Path, What: "was asked for its version, but did not answer", Err: context.Cause(ctx)}
	case err != nil && complaint.String() != "":
		return "", &Error{Reason: Mute, Path: p.Path, What: fmt.Sprintf("does not tell its version (%.200q)", firstLine(complaint.String())), Err: err}
	case err != nil:
		return "", &Error{Reason: Mute, Path: p.Path, What: "does not tell its version", Err: err}
	}
	return out.String(), nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// head keeps the beginning of the output.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), answerSize-h.kept.Len())])
	return len(p), nil
}

func (h *head) String() string { return h.kept.String() }

// day finds a date in a version: release-20260907.0, v0.0.0-20260905035102-160fafc42237, 0.0~20221219.0.
var day = regexp.MustCompile(`(?:^|[^0-9])(20[0-9]{6})(?:[0-9]{6})?(?:[^0-9]|$)`)

// dateOf returns the first date in a version.
func dateOf(version string) (time.Time, bool) {
	found := day.FindStringSubmatch(version)
	if found == nil {
		return time.Time{}, false
	}
	date, err := time.Parse("20060102", found[1])
	return date, err == nil
}
