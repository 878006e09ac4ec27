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
	name      atomic.Pointer[string] // nil until the engine tells an id that lasts
	landmark  atomic.Pointer[string] // recognises the engine without asking for its id
	exchanged atomic.Bool            // another engine answered the last Prove
}

// NewIdentity returns an Identity that has asked the engine nothing yet.
func NewIdentity(client *Client, log *slog.Logger) *Identity {
	return &Identity{client: client, log: log}
}

// identityOf returns the engine's own id together with its data root. The id alone is not enough: up to Docker 20.10 it
// comes from /etc/docker/key.json, which all engines of a machine share. Both outlast the engine's process. If an
// upgrade changes the id, this does no harm: containers that the engine lists are still ours. A copy of a machine has
// the same id and data root as the original; then only the labels of the installation tell them apart.
func identityOf(info system.Info) string {
	if info.ID == "" {
		return ""
	}
	return info.ID + "@" + info.DockerRootDir
}

// Name returns the engine's id; "" if it has told no lasting id.
func (i *Identity) Name() string {
	if name := i.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Learn asks for the engine's id when the launcher is opened.
func (i *Identity) Learn(ctx context.Context, first system.Info) error {
	name, err := i.lasting(ctx, identityOf(first))
	if err != nil {
		return err
	}
	if name == "" {
		i.log.Warn("the engine has no lasting id: if another engine takes its place, the watcher takes the runs on this engine for lost",
			"engine", i.client.Host())
		return nil
	}
	i.name.Store(&name)
	return nil
}

// lasting asks the engine again. It returns the id only if both answers agree. Podman-like engines invent a new id for
// each answer; such an id identifies nothing.
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

// Prove asks the engine for its identity. It returns ErrOtherSite if it is not the engine that the launcher was opened
// on. Everything that was tried and prepared belongs to that engine, so nothing is made on any other. Prove closes idle
// connections first, because an old connection may still lead to an engine that no longer has this address.
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
	return fmt.Errorf("%s is engine %q now, but was %q: %w", i.client.Host(), now, i.Name(), sandbox.ErrOtherSite)
}

// learnName takes the id of an engine that told no lasting id when the launcher was opened. It does so only if the
// engine has the same landmark as then; otherwise it is another engine.
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

// Demand asks an engine without an id again before anything is made on it, because everything made there carries the
// id. An engine that invents a new id for each answer has none to tell; the launcher has warned of this.
func (i *Identity) Demand(ctx context.Context) error {
	if i.Name() != "" {
		return nil
	}
	if err := i.Prove(ctx); err != nil || i.Name() != "" {
		return err
	}
	info, err := i.client.Info(ctx)
	if err != nil || identityOf(info) == "" {
		return fmt.Errorf("%w: it tells no id, so its containers could not be told from another engine's", sandbox.ErrUnavailable)
	}
	return nil
}

// Recognise does the work of Prove before every start, but faster: to tell its id, an engine executes its runtime,
// which takes too long. The volume with init is the engine's landmark. On another engine, a volume with the same name
// lies in another data root, or was made at another time. If the landmark looks different, Recognise asks the engine
// after all.
func (i *Identity) Recognise(ctx context.Context) error {
	if i.Name() == "" { // the engine has no lasting id
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

// SeeLandmark sets the volume that is the engine's landmark. If the engine has told no id, SeeLandmark remembers how
// the volume looks now, so that the engine can be recognised when it tells an id later.
func (i *Identity) SeeLandmark(ctx context.Context, volume string) {
	i.volume = volume
	if i.Name() == "" {
		seen := i.lookForLandmark(ctx)
		i.landmark.Store(&seen)
	}
}

// lookForLandmark returns a description of the engine's landmark, "" if it is not there.
func (i *Identity) lookForLandmark(ctx context.Context) string {
	found, err := i.client.inspectVolume(ctx, i.volume)
	if err != nil || found.CreatedAt == "" {
		return ""
	}
	return found.Mountpoint + " " + found.CreatedAt
}

// TakeAny accepts the engine that answers now as the launcher's own, with the id that it tells.
func (i *Identity) TakeAny(ctx context.Context) error {
	info, err := i.client.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine for its id: %w", err)
	}
	name := identityOf(info)
	i.name.Store(&name)
	return nil
}

// WasExchanged reports whether another engine answered the last Prove.
func (i *Identity) WasExchanged() bool { return i.exchanged.Load() }
