//go:build linux

package main_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"torno/internal/runfile"
	"torno/internal/seccomp"
)

// The places inside every box, and its nonce.
const (
	ws    = "/srv/ws"  // the workspace
	ctx   = "/srv/ctx" // a read-only mount
	nonce = "0123456789abcdef"
)

// box is a sandbox to be: what an engine would make, and the run file that goes with it. A test changes either.
type box struct {
	plan   plan
	file   runfile.File
	filter []byte // nil for none

	init      string                  // the binary
	word      string                  // what init is told in its hold
	stdin     io.Reader               // what follows the word, for the agent
	stderr    *os.File                // instead of one that the test collects
	workspace string                  // on the host
	context   string                  // on the host
	runDir    string                  // on the host
	put       func(path string) error // puts something else in the place of the run file
}

// newBox is a box in which init has nothing to complain about, and which runs the script.
func newBox(t *testing.T, script string) *box {
	t.Helper()
	needRoot(t)
	uid := nextUID()
	b := &box{init: product, word: runfile.Release, workspace: t.TempDir(), context: t.TempDir(), runDir: t.TempDir()}
	if err := os.Chown(b.workspace, uid, uid); err != nil {
		t.Fatal(err)
	}
	b.plan = plan{
		UID: uid, GID: uid, Args: []string{"sandbox-init", nonce}, Env: []string{"SECRET=of-the-engine", runfile.InitEnv},
		Binds: []bind{
			{Source: b.context, Target: ctx, ReadOnly: true, Hardened: true},
			{Source: b.workspace, Target: ws, Hardened: true},
		},
	}
	b.file = runfile.File{
		Version: runfile.Version, Nonce: nonce, Dir: ws, Umask: 0o022,
		Argv: []string{"/bin/sh", "-c", script},
		Env:  []string{"PATH=/usr/bin:/bin"},
		Mounts: []runfile.Mount{
			pinned(t, b.context, runfile.Mount{Path: ctx, Hardened: true}),
			pinned(t, b.workspace, runfile.Mount{Path: ws, Hardened: true, Writable: true}),
		},
	}
	var err error
	if b.filter, err = (seccomp.Filter{Arch: runtime.GOARCH}).Program(); err != nil {
		t.Fatal(err)
	}
	return b
}

// pinned is the mount with what the host knows of the source.
func pinned(t *testing.T, source string, m runfile.Mount) runfile.Mount {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(source, &stat); err != nil {
		t.Fatal(err)
	}
	m.Device, m.Inode = stat.Dev, stat.Ino
	return m
}

// answer lets init write the agent's standard output to the workspace's answer.txt.
func (b *box) answer(limit int64) *box {
	b.file.Answer = runfile.Answer{Path: ws + "/answer.txt", FromStdout: true, Max: limit}
	return b
}

// in is a path on the host of something in the workspace.
func (b *box) in(name string) string { return filepath.Join(b.workspace, name) }

// plant puts a file of the agent's into the workspace.
func (b *box) plant(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(b.in(name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(b.in(name), b.plan.UID, b.plan.GID); err != nil {
		t.Fatal(err)
	}
}

// start makes the box and lets init run in it.
func (b *box) start(t *testing.T) *running {
	t.Helper()
	b.writeRunFile(t)
	b.plan.RunDir, b.plan.Init = b.runDir, b.init
	plan, err := json.Marshal(b.plan)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Stdin = strings.NewReader(b.word)
	if b.stdin != nil {
		cmd.Stdin = io.MultiReader(cmd.Stdin, b.stdin)
	}
	if b.stderr != nil {
		cmd.Stderr = b.stderr
	}
	cmd.Env = []string{planVariable + "=" + string(plan)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: b.plan.namespaces(), Pdeathsig: syscall.SIGKILL}
	return launch(t, cmd, b.plan)
}

func (b *box) writeRunFile(t *testing.T) {
	t.Helper()
	if b.filter != nil {
		if err := os.WriteFile(filepath.Join(b.runDir, filepath.Base(runfile.FilterPath)), b.filter, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	put := b.put
	if put == nil {
		put = func(path string) error { return runfile.Write(path, b.file) }
	}
	if err := put(filepath.Join(b.runDir, filepath.Base(runfile.Path))); err != nil {
		t.Fatal(err)
	}
}

// run starts the box and waits for its end.
func (b *box) run(t *testing.T) result {
	t.Helper()
	return b.start(t).wait(t)
}
