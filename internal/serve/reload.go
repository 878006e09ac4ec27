package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/configs"
)

// awaitReload waits until a new configuration is asked for and found good, and returns the host that it is for. What is
// wrong with one is said, and the old one stays.
func (h *host) awaitReload(open context.Context, a asked) *Options {
	ctx, stop := context.WithCancel(open)
	defer stop()
	defer context.AfterFunc(a.stopping, stop)()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.reload:
		}
		if a.stopping.Err() != nil {
			return nil // both at once, and what was reloaded would only be stopped
		}
		next, err := h.reread(ctx, a)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOvertaken):
			h.Log.Info("the configuration waits no longer for an engine", "because", err)
		case err != nil:
			h.Log.Error("the configuration is not reloaded: nothing of it is taken, and the old one stays", "error", err)
		case next != nil:
			h.notify.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", time.Since(boot).Microseconds()))
			return next
		}
	}
}

// boot stands for the beginning of the monotonic clock, which a service manager compares only with itself.
var boot = time.Now()

// reread reads the configuration again. The result is nil when nothing has changed.
func (h *host) reread(ctx context.Context, a asked) (*Options, error) {
	config, log, err := h.Reload()
	if err != nil {
		return nil, err
	}
	changes := h.Config.Changes(config)
	if len(changes) == 0 {
		h.Log.Info("the configuration is as it was")
		return nil, nil
	}
	if err := h.mayBecome(ctx, config); err != nil {
		return nil, err
	}
	if err := h.awaitAnswers(ctx, a, config); err != nil {
		return nil, err
	}
	for _, change := range changes {
		h.Log.Info("reloading the configuration", "change", change)
	}
	next := h.Options
	next.Config, next.Log = config, log
	return &next, nil
}

// mayBecome says why a watcher with children cannot go on under another configuration. Without its engine none starts, and
// this one would be gone by then.
func (h *host) mayBecome(ctx context.Context, c configs.Config) error {
	switch {
	case c.State != h.Config.State:
		return fmt.Errorf("state would be %s and is %s; restart the watcher for that", c.State, h.Config.State)
	case c.EngineSocket() != h.Config.EngineSocket():
		return fmt.Errorf("docker.host would be %s and is %s; restart the watcher for that", c.EngineSocket(), h.Config.EngineSocket())
	}
	if _, err := c.CheckHost(); err != nil {
		return err
	}
	return h.Engines.reach(ctx, c)
}

// errBetween says that nobody has taken the runs up that a reload has left to the next host.
var errBetween = errors.New("killed in the middle of a reload: what runs, and what waits, is left to the next start")

// replace opens the host of a new configuration in the place of this one, which has left its runs to it. Where that fails,
// the old configuration serves on. Who is told to stop meanwhile takes the runs up first, to end them; who is told twice
// does not.
func (h *host) replace(ctx context.Context, a asked, next Options) (*host, error) {
	ctx, stop := a.unhurried(ctx)
	defer stop()
	replaced, err := open(ctx, next)
	if err != nil && ctx.Err() == nil {
		h.Log.Error("the new configuration cannot be served, and the old one stays", "error", err)
		previous := h.Options
		replaced, err = open(ctx, previous)
	}
	if replaced == nil && err == nil {
		err = errBetween
	}
	return replaced, err
}
