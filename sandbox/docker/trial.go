package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"torno/internal/hostroot"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// trialTime bounds a trial on a slow machine.
const trialTime = time.Minute

// try makes a sandbox as any other, whose agent is init printing its version, and takes init's own word that the
// workspace arrived.
func (l *Launcher) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	scratch, err := l.makeScratch()
	if err != nil {
		return fmt.Errorf("make a directory for the trial: %w", err)
	}
	bases, err := mounts.OpenBases([]string{scratch.dir})
	if err != nil {
		return fmt.Errorf("open the directory for the trial: %w", err)
	}
	defer bases.Close()
	h, err := l.create(ctx, order{run: roleTrial, spec: scratch.spec(), bases: bases})
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	err = l.runTrial(ctx, h)
	cleanup, cancelCleanup := cleanupContext(ctx)
	defer cancelCleanup()
	return errors.Join(err, l.Remove(cleanup, h))
}

// startError says that the engine did not start a trial's sandbox.
type startError struct{ err error }

func (e *startError) Error() string { return "trial: " + e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

func (l *Launcher) runTrial(ctx context.Context, h sandbox.Handle) error {
	if err := l.Start(ctx, h); err != nil {
		return &startError{err}
	}
	a, err := l.Open(ctx, h, "")
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	defer a.Close()
	said, err := listen(ctx, a)
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	exit, err := a.Wait(ctx)
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	line, _, _ := bytes.Cut(said, []byte("\n"))
	if _, err := runfile.ParseFirstLine(string(line)); err != nil {
		return fmt.Errorf("trial: init did not start its agent: %w (exit code %d)", err, exit.Code)
	}
	if exit.Code != 0 {
		return fmt.Errorf("trial: the agent ended with exit code %d and said %q", exit.Code, said)
	}
	return nil
}

// maxSaid bounds what is kept of a trial's words.
const maxSaid = 4 << 10

// listen reads standard error to the end of all output.
func listen(ctx context.Context, a sandbox.Attachment) (said []byte, err error) {
	for {
		select {
		case chunk, more := <-a.Output():
			if !more {
				return said, nil
			}
			if chunk.Stream == sandbox.Stderr && len(said) < maxSaid {
				said = append(said, chunk.Bytes...)
			}
		case <-ctx.Done():
			return said, ctx.Err()
		}
	}
}

// scratch is the trial's workspace.
type scratch struct {
	dir   string
	owner uint32
}

// makeScratch makes it. By path its owner is whom the sandbox runs as, which is never root.
func (l *Launcher) makeScratch() (scratch, error) {
	s := scratch{dir: filepath.Join(l.dir(), "trial"), owner: uint32(os.Geteuid())}
	if err := hostroot.MakeDir(s.dir); err != nil {
		return s, err
	}
	if s.owner != 0 || l.byHandle {
		return s, nil
	}
	s.owner = l.options.UIDs.First
	return s, os.Chown(s.dir, int(s.owner), int(s.owner))
}

func (s scratch) spec() sandbox.Spec {
	const mib = 1 << 20
	return sandbox.Spec{
		Profile: roleTrial,
		RootFS:  sandbox.RootFS{Host: true},
		Process: sandbox.Process{Argv: []string{runfile.Init, "version"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace"},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: s.dir, Rel: "."}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
		Limits: sandbox.Limits{
			Memory: 64 * mib, CPUs: 1000, Pids: 64, OpenFiles: 256, FileSize: mib, Tmp: mib, Home: mib, Shm: mib, Log: mib,
		},
		Owners: []uint32{s.owner},
	}
}
