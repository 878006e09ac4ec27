package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// TrialName is the name of a trial's profile, and is used in place of a run's key.
const TrialName = "trial"

// Trial is an ordinary sandbox in which init prints its version instead of running an agent. A launcher finds out with it
// whether sandboxes work here.
type Trial struct {
	ID    sandbox.SandboxID // the name that the launcher gives it
	Dir   string            // the workspace, and a base of its own
	Owner uint32
}

// trialTime is how long a trial may take on a slow machine, without its removal.
const trialTime = time.Minute

// trier is the part of a launcher that a trial needs.
type trier interface {
	starter
	Remove(context.Context, sandbox.Handle) error
}

// Make makes a sandbox in a launcher's own way.
type Make func(context.Context, Order) (sandbox.Handle, error)

// trialLauncher is a launcher in its trial. The trial does not fail where the host cannot look into the sandbox.
type trialLauncher struct {
	trier
	unattested string
}

// Attest notes why the host cannot look into the sandbox. The text leaves out the name of the trial's sandbox, which is gone
// when the operator reads it.
func (l *trialLauncher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	seen, err := l.trier.Attest(ctx, h)
	var cannot *attest.CannotLookError
	if !errors.As(err, &cannot) {
		return seen, err
	}
	l.unattested = cannot.Error()
	return sandbox.Attestation{Why: l.unattested}, nil
}

// Run makes the sandbox of a trial, runs it and removes it. Where the host cannot look into it, unattested says why.
func (t Trial) Run(ctx context.Context, launcher trier, create Make) (unattested string, err error) {
	l := &trialLauncher{trier: launcher}
	err = t.run(ctx, l, create)
	return l.unattested, err
}

func (t Trial) run(ctx context.Context, l trier, create Make) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	if err := t.layOut(); err != nil {
		return fmt.Errorf("make a directory for the trial: %w", err)
	}
	bases, err := mounts.OpenBases([]string{t.Dir})
	if err != nil {
		return fmt.Errorf("open the directory for the trial: %w", err)
	}
	defer bases.Close()
	h, err := create(ctx, Order{ID: t.ID, Spec: t.Spec(), Bases: bases})
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	err = runAgent(ctx, l, h)
	clearing, cancelClearing := CleanupContext(ctx)
	defer cancelClearing()
	return errors.Join(err, l.Remove(clearing, h))
}

// layOut makes the workspace and gives it to Owner. An earlier trial may have given it to another user.
func (t Trial) layOut() error {
	own := os.Geteuid()
	if err := hostroot.MakeDir(t.Dir); err != nil || own != 0 && t.Owner == uint32(own) {
		return err
	}
	return os.Chown(t.Dir, int(t.Owner), int(t.Owner))
}

// Spec is the spec of the trial's sandbox.
func (t Trial) Spec() sandbox.Spec {
	const mib = 1 << 20
	return sandbox.Spec{
		Profile: TrialName,
		RootFS:  sandbox.RootFS{Host: true},
		Process: sandbox.Process{Argv: []string{runfile.Init, "version"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace"},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: t.Dir, Rel: "."}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
		Limits: sandbox.Limits{
			Memory: 64 * mib, CPUs: 1000, Pids: 64, OpenFiles: 256, FileSize: mib, Tmp: mib, Home: mib, Shm: mib, Log: mib,
		},
		Owners: []uint32{t.Owner},
	}
}

// starter is the part of a launcher that starts a sandbox.
type starter interface {
	Start(context.Context, sandbox.Handle) error
	Open(context.Context, sandbox.Handle, sandbox.Cursor) (sandbox.Attachment, error)
	Attester
}

// runAgent starts a trial's sandbox, attests and releases it, and checks that init found the workspace and ran its agent.
func runAgent(ctx context.Context, l starter, h sandbox.Handle) error {
	if err := l.Start(ctx, h); err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	a, err := l.Open(ctx, h, "")
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	defer a.Close()
	if _, err := Release(ctx, l, h, a); err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	said, err := listen(ctx, a, func([]byte) bool { return false })
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	exit, err := a.Wait(ctx)
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	if exit.Unknown {
		return fmt.Errorf("trial: it is not known how it ended: %s", exit.Why)
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
