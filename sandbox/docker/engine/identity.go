package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/docker/docker/api/types/system"

	"torno/sandbox"
)

// Identity knows which engine a launcher was opened on. It is safe for concurrent use.
type Identity struct {
	client    *Client
	log       *slog.Logger
	volume    string                 // the engine's landmark
	name      atomic.Pointer[string] // nil until the engine tells one that lasts
	landmark  atomic.Pointer[string] // how the engine is recognised without asking for its id
	exchanged atomic.Bool            // another engine answered when it was asked last
}

// NewIdentity has asked the engine nothing yet.
func NewIdentity(client *Client, log *slog.Logger) *Identity {
	return &Identity{client: client, log: log}
}

// identityOf is an engine's own id and its data root. The id alone does not do: up to Docker 20.10 it comes from
// /etc/docker/key.json, which all engines of a machine share. Both outlast the engine's process, and an upgrade that gives it another
// id does no harm: what it lists is ours, whatever its id. A copy of a machine has both in common with the original; the labels of the
// installation are all that is left then.
func identityOf(info system.Info) string {
	if info.ID == "" {
		return ""
	}
	return info.ID + "@" + info.DockerRootDir
}

// Name is the engine's; "" where it has told none that lasts.
func (i *Identity) Name() string {
	if name := i.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Learn asks the engine who it is when the launcher is opened.
func (i *Identity) Learn(ctx context.Context, first system.Info) error {
	name, err := i.lasting(ctx, identityOf(first))
	if err != nil {
		return err
	}
	if name == "" {
		i.log.Warn("the engine tells no id that lasts: where another one takes its place, what this one runs is taken for lost",
			"engine", i.client.Host())
		return nil
	}
	i.name.Store(&name)
	return nil
}

// lasting asks once more: an engine that imitates Docker may make an id up for each answer, which is none.
func (i *Identity) lasting(ctx context.Context, first string) (string, error) {
	again, err := i.client.Info(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the engine about itself: %w", err)
	}
	if identityOf(again) != first {
		return "", nil
	}
	return first, nil
}

// Prove asks the engine for its identity: ErrOtherSite where it is not the engine that the launcher was opened on. All that was tried and prepared
// is that engine's, so nothing is made on another one. A connection that was kept leads where the name led when it was made, so none is
// used.
func (i *Identity) Prove(ctx context.Context) error {
	i.client.HangUp()
	info, err := i.client.Info(ctx)
	if err != nil {
		return fmt.Errorf("%w: it does not tell its id: %w", sandbox.ErrUnavailable, err)
	}
	now := identityOf(info)
	if i.Name() == "" {
		return i.learnName(ctx, now)
	}
	i.exchanged.Store(now != i.Name())
	if now != i.Name() {
		return i.isAnother(now)
	}
	return nil
}

func (i *Identity) isAnother(now string) error {
	return fmt.Errorf("%s is engine %q now and was %q: %w", i.client.Host(), now, i.Name(), sandbox.ErrOtherSite)
}

// learnName takes the id of an engine that told none that lasts when the launcher was opened. It is the engine that was opened
// only where its landmark is the one that was seen then.
func (i *Identity) learnName(ctx context.Context, first string) error {
	name, err := i.lasting(ctx, first)
	if err != nil || name == "" {
		return err
	}
	if known := i.landmark.Load(); known == nil || *known == "" || *known != i.lookForLandmark(ctx) {
		return i.isAnother(name)
	}
	i.name.CompareAndSwap(nil, &name)
	return nil
}

// Demand asks an engine without an id again before anything is made on it: what is made carries the id. An engine that makes
// one up for each answer has none to tell, which the launcher has warned of.
func (i *Identity) Demand(ctx context.Context) error {
	if i.Name() != "" {
		return nil
	}
	if err := i.Prove(ctx); err != nil || i.Name() != "" {
		return err
	}
	info, err := i.client.Info(ctx)
	if err != nil || identityOf(info) == "" {
		return fmt.Errorf("%w: it tells no id, and what is made on it could not be told from another engine's", sandbox.ErrUnavailable)
	}
	return nil
}

// Recognise is Prove for every start, where asking an engine for its id would take too long: it executes its runtime for the answer. The
// volume with init is the engine's landmark. One of the same name on another engine lies in another data root, or was made at another
// time. Where it looks otherwise than before, the engine is asked after all.
func (i *Identity) Recognise(ctx context.Context) error {
	if i.Name() == "" { // it makes one up for each answer
		return nil
	}
	i.client.HangUp()
	seen := i.lookForLandmark(ctx)
	if known := i.landmark.Load(); known != nil && *known == seen {
		return nil
	}
	if err := i.Prove(ctx); err != nil {
		return err
	}
	if seen != "" && i.lookForLandmark(ctx) == seen {
		i.landmark.Store(&seen)
	}
	return nil
}

// SeeLandmark is told which volume is the engine's landmark. It remembers that of an engine that has told no id: by it the engine is
// known again when it does.
func (i *Identity) SeeLandmark(ctx context.Context, volume string) {
	i.volume = volume
	if i.Name() == "" {
		seen := i.lookForLandmark(ctx)
		i.landmark.Store(&seen)
	}
}

// lookForLandmark is what the engine's landmark looks like, "" where it is not there.
func (i *Identity) lookForLandmark(ctx context.Context) string {
	found, err := i.client.inspectVolume(ctx, i.volume)
	if err != nil || found.CreatedAt == "" {
		return ""
	}
	return found.Mountpoint + " " + found.CreatedAt
}

// TakeAny takes any engine for the one, by the id that it tells now.
func (i *Identity) TakeAny(ctx context.Context) error {
	info, err := i.client.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine for its id: %w", err)
	}
	name := identityOf(info)
	i.name.Store(&name)
	return nil
}

// WasExchanged says whether another engine answered when it was asked last.
func (i *Identity) WasExchanged() bool { return i.exchanged.Load() }
