package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/internal/mounts"
	"torno/sandbox"
)

// An engine's identity is its own id and its data root. The id alone does not do: up to Docker 20.10 it comes from
// /etc/docker/key.json, which all engines of a machine share. Both outlast the engine's process, and an upgrade that gives it another
// id does no harm: what it lists is ours, whatever its id. A copy of a machine has both in common with the original; the labels of the
// installation are all that is left then.
func identityOf(info dockersystem.Info) string {
	if info.ID == "" {
		return ""
	}
	return info.ID + "@" + info.DockerRootDir
}

// identify asks twice: an engine that imitates Docker may make an id up for each answer, which is none.
func (l *Launcher) identify(ctx context.Context, first dockersystem.Info) error {
	again, err := l.engine.info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine about itself: %w", err)
	}
	if l.identity = identityOf(first); l.identity != identityOf(again) {
		l.identity = ""
	}
	if l.identity == "" {
		l.options.Log.Warn("the engine has no id that lasts: where another one takes its place, what this one runs is taken for lost",
			"engine", l.engine.api.DaemonHost())
	}
	return nil
}

// Engine is the identity of the engine that the launcher was opened on, while that engine answers.
func (l *Launcher) Engine(ctx context.Context) (string, error) {
	if err := l.prove(ctx); err != nil {
		return "", err
	}
	return l.identity, nil
}

// prove asks the engine for its identity: ErrOtherEngine where it is not the engine that the launcher was opened on. All that was tried and prepared
// is that engine's, so nothing is made on another one. A connection that was kept leads where the name led when it was made, so none is
// used.
func (l *Launcher) prove(ctx context.Context) error {
	if l.identity == "" {
		return nil
	}
	l.engine.hangUp()
	info, err := l.engine.info(ctx)
	if err != nil {
		return fmt.Errorf("%w: it does not tell its id: %w", sandbox.ErrUnavailable, err)
	}
	now := identityOf(info)
	l.exchanged.Store(now != l.identity)
	if now != l.identity {
		return fmt.Errorf("%s is engine %q now and was %q: %w", l.engine.api.DaemonHost(), now, l.identity, sandbox.ErrOtherEngine)
	}
	return nil
}

// recognise is prove for every start, where asking an engine for its id would take too long: it executes its runtime for the answer. The
// volume with init is the engine's landmark. One of the same name on another engine lies in another data root, or was made at another
// time. Where it looks otherwise than before, the engine is asked after all.
func (l *Launcher) recognise(ctx context.Context) error {
	if l.identity == "" {
		return nil
	}
	l.engine.hangUp()
	seen := l.lookForLandmark(ctx)
	if known := l.landmark.Load(); known != nil && *known == seen {
		return nil
	}
	if err := l.prove(ctx); err != nil {
		return err
	}
	if seen != "" && l.lookForLandmark(ctx) == seen {
		l.landmark.Store(&seen)
	}
	return nil
}

// lookForLandmark is what the engine's landmark looks like, "" where it is not there.
func (l *Launcher) lookForLandmark(ctx context.Context) string {
	found, err := l.engine.inspectVolume(ctx, l.shared.initVolume)
	if err != nil || found.CreatedAt == "" {
		return ""
	}
	return found.Mountpoint + " " + found.CreatedAt
}

// proveTime bounds how long an engine may take to say that it does not have a container.
const proveTime = 10 * time.Second

// gone is what it means that a container was not found: ErrNotFound only where the launcher's own engine says so, asked once more.
func (l *Launcher) gone(doing string, h sandbox.Handle) error {
	ctx, cancel := context.WithTimeout(context.Background(), proveTime)
	defer cancel()
	err := errors.Join(h.On(l.identity), l.prove(ctx))
	if err == nil {
		_, err = l.engine.inspect(ctx, h.ID)
	}
	switch {
	case err == nil:
		err = fmt.Errorf("%w: it did not know the container, and knows it now", sandbox.ErrUnavailable)
	case isGone(err):
		err = sandbox.ErrNotFound
	}
	return away(fmt.Errorf("%s container %s: %w", doing, h.ID, err))
}

// elsewhere are the sandboxes of runs that have not ended on another engine than this one.
func (l *Launcher) elsewhere() (all []sandbox.Handle) {
	for _, h := range l.options.Known {
		if h.On(l.identity) != nil {
			all = append(all, h)
		}
	}
	return all
}

// keepElsewhere takes the slots of sandboxes on another engine, and gives none of them back: their workspaces are mounted there, and
// their user ids are in use.
func (l *Launcher) keepElsewhere() error {
	for _, h := range l.elsewhere() {
		_, err := l.slots.Claim(h.Slot)
		if err != nil && !errors.Is(err, mounts.ErrSlotInUse) { // or this engine lists it, with another id
			return fmt.Errorf("keep the slot of container %s, which is on another engine: %w", h.ID, err)
		}
	}
	return nil
}

// reachesAll refuses to purge while a run's sandbox is on another engine, unless that is this one with another id.
func (l *Launcher) reachesAll(ctx context.Context) error {
	info, err := l.engine.info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine for its id: %w", err)
	}
	l.identity = identityOf(info)
	for _, h := range l.elsewhere() {
		if _, err := l.engine.inspect(ctx, h.ID); isGone(err) {
			return fmt.Errorf("%w; nothing of it can be purged from here: bring that engine back, or give its run up with watcher cancel --abandon, and purge then",
				h.On(l.identity))
		} else if err != nil {
			return fmt.Errorf("look for container %s: %w", h.ID, err)
		}
	}
	return nil
}
