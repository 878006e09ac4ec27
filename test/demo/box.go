package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// box is the agent's home where there is no engine: a sandbox of gVisor, made by its program runsc and nothing of ours.
type box struct{ *stage }

// live runs the agent in a sandbox. The program runs as long as that does.
func (s box) live(ctx context.Context, told, complaints io.Writer) (code int, err error) {
	if err := s.furnish(); err != nil {
		return 0, fmt.Errorf("make the parent's sandbox: %w", err)
	}
	err = s.runsc(ctx, told, complaints, "run", "-bundle", s.path("agent"), filepath.Base(s.dir)).Run()
	if end, ok := errors.AsType[*exec.ExitError](err); ok && end.Exited() {
		return end.ExitCode(), nil
	}
	return 0, err
}

// leave ends the agent, where it still lives, and what is around it.
func (s box) leave(ctx context.Context) error {
	if _, err := os.Lstat(s.path("agent")); err != nil {
		return nil //nolint:nilerr // it never came to be
	}
	err := s.runsc(ctx, io.Discard, os.Stderr, "delete", "-force", filepath.Base(s.dir)).Run()
	// As root runsc keeps an empty network there for the next sandbox.
	if e := unix.Unmount(s.path("agent/state/null-netns"), 0); e != nil && !errors.Is(e, unix.EINVAL) && !errors.Is(e, unix.ENOENT) {
		err = errors.Join(err, fmt.Errorf("unmount runsc's empty network: %w", e))
	}
	return err
}

// runsc is a command of gVisor's program, which make demo has in the PATH.
func (s box) runsc(ctx context.Context, stdout, stderr io.Writer, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "runsc", append([]string{
		"-root", s.path("agent/state"), "-network", "none", "-ignore-cgroups", "-directfs=false", "-rootless=" + either(os.Geteuid() == 0, "false", "true"),
	}, args...)...)
	c.Stdout, c.Stderr = stdout, stderr
	return c
}

// furnish makes a root with nothing but the agent in it.
func (s box) furnish() error {
	root := s.path("agent/root")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, s.outbox), 0o755), os.MkdirAll(filepath.Join(root, "proc"), 0o755)); err != nil {
		return err
	}
	if err := os.Link(s.path("demo"), filepath.Join(root, "agent")); err != nil {
		return err
	}
	config, err := json.Marshal(s.parentConfig())
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("agent/config.json"), config, 0o600)
}

// parentConfig is how one shuts in an agent that has an outbox.
func (s box) parentConfig() any {
	type object = map[string]any
	namespaces := []object{}
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		namespaces = append(namespaces, object{"type": kind})
	}
	return object{
		"ociVersion": "1.0.2", "hostname": "agent", "root": object{"path": "root", "readonly": true},
		"process": object{
			"args": []string{"/agent", "parent", s.outbox}, "cwd": "/", "user": object{"uid": s.owner, "gid": s.owner}, "noNewPrivileges": true,
		},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": s.outbox, "type": "bind", "source": s.outbox, "options": []string{"rbind", "rw"}},
		},
		"linux": object{"namespaces": namespaces},
	}
}
