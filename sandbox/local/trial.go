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

// TrialName is the name of a trial's profile. It also stands in place of a run's key.
const TrialName = "trial"

// Trial is an ordinary sandbox in which init is its own agent. With it a launcher finds out whether sandboxes work
// here.
type Trial struct {
	ID    sandbox.SandboxID // the name that the launcher gives it
	Dir   string            // the workspace, which is a base of its own
	Owner uint32
	// Sockets: the trial finds out whether the kernel keeps a sandbox from sockets. Otherwise init prints its version
	// and ends.
	Sockets bool
}

// Found is the result of a trial.
type Found struct {
	Unattested string // why the host cannot look into the sandbox; "" if it can
	Shut       bool   // a sandbox can be kept from the sockets of others (see runfile.File)
}

// trialTime bounds a trial, without its removal. It is only meant to end a trial that hangs, not to judge a slow
// machine: an emulated machine on a busy host once took over a minute. A service manager that wants an answer sooner
// has a bound of its own.
const trialTime = 5 * time.Minute

// trier is the part of a launcher that a trial needs.
type trier interface {
	starter
	Remove(context.Context, sandbox.Handle) error
}

// Make makes a sandbox in a launcher's own way.
type Make func(context.Context, Order) (sandbox.Handle, error)

// trialLauncher is a launcher during its trial. The trial does not fail if the host cannot look into the sandbox.
type trialLauncher struct {
	trier
	unattested string
}

// Attest notes why the host cannot look into the sandbox. The text does not name the trial's sandbox, which is gone by
// the time the operator reads the text.
func (l *trialLauncher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	seen, err := l.trier.Attest(ctx, h)
	var cannot *attest.CannotLookError
	if !errors.As(err, &cannot) {
		return seen, err
	}
	l.unattested = cannot.Error()
	return sandbox.Attestation{Why: l.unattested}, nil
}

// Run makes the sandbox of a trial, runs it and removes it.
func (t Trial) Run(ctx context.Context, launcher trier, create Make) (Found, error) {
	l := &trialLauncher{trier: launcher}
	shut, err := t.run(ctx, l, create)
	return Found{Unattested: l.unattested, Shut: shut}, err
}

func (t Trial) run(ctx context.Context, l trier, create Make) (shut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	if err := t.layOut(); err != nil {
		return false, fmt.Errorf("make a directory for the trial: %w", err)
	}
	var socket listener
	if t.Sockets {
		if socket, err = t.listen(); err != nil {
			return false, fmt.Errorf("make a socket for the trial: %w", err)
		}
		defer socket.Close()
	}
	bases, err := mounts.OpenBases([]string{t.Dir})
	if err != nil {
		return false, fmt.Errorf("open the directory for the trial: %w", err)
	}
	defer bases.Close()
	h, err := create(ctx, Order{ID: t.ID, Spec: t.Spec(), Bases: bases})
	if err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	shut, err = runAgent(ctx, l, h)
	clearing, cancelClearing := CleanupContext(ctx)
	defer cancelClearing()
	return t.Sockets && shut && !socket.reached(), errors.Join(err, l.Remove(clearing, h))
}

// layOut makes the workspace and gives it to Owner. An earlier trial may have given it to another user.
func (t Trial) layOut() error {
	own := os.Geteuid()
	if err := hostroot.MakeDir(t.Dir); err != nil || own != 0 && t.Owner == uint32(own) {
		return err
	}
	return os.Chown(t.Dir, int(t.Owner), int(t.Owner))
}

// Spec returns the spec of the trial's sandbox.
func (t Trial) Spec() sandbox.Spec {
	const mib = 1 << 20
	agent := []string{runfile.Init, "version"}
	if t.Sockets {
		agent = []string{runfile.Init, "shut", "/workspace/" + trialSocket}
	}
	return sandbox.Spec{
		Profile: TrialName,
		RootFS:  sandbox.RootFS{Host: true},
		Process: sandbox.Process{Argv: agent, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace"},
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

// runAgent starts a trial's sandbox, attests it and releases it. Then it checks that init found the workspace and ran
// its agent. The agent reports whether it was kept from a socket.
func runAgent(ctx context.Context, l starter, h sandbox.Handle) (shut bool, err error) {
	if err := l.Start(ctx, h); err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	a, err := l.Open(ctx, h, "")
	if err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	defer a.Close()
	if _, err := Release(ctx, l, h, a); err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	said, err := listen(ctx, a, func([]byte) bool { return false })
	if err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	exit, err := a.Wait(ctx)
	if err != nil {
		return false, fmt.Errorf("trial: %w", err)
	}
	if exit.Unknown {
		return false, fmt.Errorf("trial: it is not known how it ended: %s", exit.Why)
	}
	line, _, _ := bytes.Cut(said, []byte("\n"))
	if _, err := runfile.ParseFirstLine(string(line)); err != nil {
		return false, fmt.Errorf("trial: init did not start its agent: %w (exit code %d)", err, exit.Code)
	}
	switch exit.Code {
	case 0, runfile.CannotShut:
		return exit.Code == 0, nil
	default:
		return false, fmt.Errorf("trial: the agent ended with exit code %d and said %q", exit.Code, said)
	}
}
