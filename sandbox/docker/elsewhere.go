package docker

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// Sandboxes of runs may be on another engine than the engine that answers now.

// elsewhere returns the sandboxes of unfinished runs that are on another engine.
func (l *Launcher) elsewhere() (all []sandbox.Handle) {
	for _, h := range l.options.Known {
		if h.On(l.identity.Name()) != nil {
			all = append(all, h)
		}
	}
	return all
}

// keepElsewhere takes the slots of the sandboxes on another engine, and never gives them back, because their workspaces
// are mounted there and their user ids are in use.
func (l *Launcher) keepElsewhere() error {
	for _, h := range l.elsewhere() {
		_, err := l.slots.Adopt(h.Slot)
		if err != nil && !errors.Is(err, mounts.ErrSlotInUse) { // in use: this engine lists the sandbox, under another id
			return fmt.Errorf("keep the slot of container %s, which is on another engine: %w", h.ID, err)
		}
	}
	return nil
}

// reachesAll refuses to purge while a run's sandbox is on another engine. It accepts such a sandbox if this engine has
// its container: then this is the same engine with another id.
func (l *Launcher) reachesAll(ctx context.Context) error {
	if err := l.identity.TakeAny(ctx); err != nil {
		return err
	}
	for _, h := range l.elsewhere() {
		if _, err := l.engine.Inspect(ctx, h.ID); engine.IsGone(err) {
			return fmt.Errorf("%w; nothing of it can be purged from here: bring that site back, or give its run up with watcher cancel --abandon; then purge again",
				h.On(l.identity.Name()))
		} else if err != nil {
			return fmt.Errorf("look for container %s: %w", h.ID, err)
		}
	}
	return nil
}
