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

// identity is the engine's; "" where it has told none that lasts.
func (l *Launcher) identity() string {
	if name := l.name.Load(); name != nil {
		return *name
	}
	return ""
}

// identify asks the engine who it is when the launcher is opened.
func (l *Launcher) identify(ctx context.Context, first dockersystem.Info) error {
	name, err := l.lasting(ctx, identityOf(first))
	if err != nil {
		return err
	}
	if name == "" {
		l.options.Log.Warn("the engine tells no id that lasts: where another one takes its place, what this one runs is taken for lost",
			"engine", l.engine.api.DaemonHost())
		return nil
	}
	l.name.Store(&name)
	return nil
}

// lasting asks once more: an engine that imitates Docker may make an id up for each answer, which is none.
func (l *Launcher) lasting(ctx context.Context, first string) (string, error) {
	again, err := l.engine.info(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the engine about itself: %w", err)
	}
	if identityOf(again) != first {
		return "", nil
	}
	return first, nil
}

// Site is the identity of the engine that the launcher was opened on, while that engine answers.
func (l *Launcher) Site(ctx context.Context) (string, error) {
	if err := l.prove(ctx); err != nil {
		return "", err
	}
	return l.identity(), nil
}

// prove asks the engine for its identity: ErrOtherSite where it is not the engine that the launcher was opened on. All that was tried and prepared
// is that engine's, so nothing is made on another one. A connection that was kept leads where the name led when it was made, so none is
// used.
func (l *Launcher) prove(ctx context.Context) error {
	l.engine.hangUp()
	info, err := l.engine.info(ctx)
	if err != nil {
		return fmt.Errorf("%w: it does not tell its id: %w", sandbox.ErrUnavailable, err)
	}
	now := identityOf(info)
	if l.identity() == "" {
		return l.learnName(ctx, now)
	}
	l.exchanged.Store(now != l.identity())
	if now != l.identity() {
		return l.isAnother(now)
	}
	return nil
}

func (l *Launcher) isAnother(now string) error {
	return fmt.Errorf("%s is engine %q now and was %q: %w", l.engine.api.DaemonHost(), now, l.identity(), sandbox.ErrOtherSite)
}

// learnName takes the id of an engine that told none that lasts when the launcher was opened. It is the engine that was opened
// only where its landmark is the one that was seen then.
func (l *Launcher) learnName(ctx context.Context, first string) error {
	name, err := l.lasting(ctx, first)
	if err != nil || name == "" {
		return err
	}
	if known := l.landmark.Load(); known == nil || *known == "" || *known != l.lookForLandmark(ctx) {
		return l.isAnother(name)
	}
	l.name.CompareAndSwap(nil, &name)
	return nil
}

// demandName asks an engine without an id again before anything is made on it: what is made carries the id. An engine that makes
// one up for each answer has none to tell, which the launcher has warned of.
func (l *Launcher) demandName(ctx context.Context) error {
	if l.identity() != "" {
		return nil
	}
	if err := l.prove(ctx); err != nil || l.identity() != "" {
		return err
	}
	info, err := l.engine.info(ctx)
	if err != nil || identityOf(info) == "" {
		return fmt.Errorf("%w: it tells no id, and what is made on it could not be told from another engine's", sandbox.ErrUnavailable)
	}
	return nil
}

// recognise is prove for every start, where asking an engine for its id would take too long: it executes its runtime for the answer. The
// volume with init is the engine's landmark. One of the same name on another engine lies in another data root, or was made at another
// time. Where it looks otherwise than before, the engine is asked after all.
func (l *Launcher) recognise(ctx context.Context) error {
	if l.identity() == "" { // it makes one up for each answer
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

// seeLandmark remembers the landmark of an engine that has told no id: by it the engine is known again when it does.
func (l *Launcher) seeLandmark(ctx context.Context) {
	if l.identity() == "" {
		seen := l.lookForLandmark(ctx)
		l.landmark.Store(&seen)
	}
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
	err := errors.Join(h.On(l.identity()), l.prove(ctx))
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
		if h.On(l.identity()) != nil {
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
	name := identityOf(info)
	l.name.Store(&name)
	for _, h := range l.elsewhere() {
		if _, err := l.engine.inspect(ctx, h.ID); isGone(err) {
			return fmt.Errorf("%w; nothing of it can be purged from here: bring that engine back, or give its run up with watcher cancel --abandon, and purge then",
				h.On(l.identity()))
		} else if err != nil {
			return fmt.Errorf("look for container %s: %w", h.ID, err)
		}
	}
	return nil
}
