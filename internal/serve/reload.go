package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"torno/configs"
	"torno/internal/retry"
)

// awaitReload waits until a new configuration is asked for and found good, another site answers, or the outboxes have
// to be opened anew. It returns the options of the next host. If a configuration is bad, it logs the mistakes and keeps
// the old one.
func (h *host) awaitReload(open context.Context, a asked) *Options {
	ctx, stop := context.WithCancel(open)
	defer stop()
	defer context.AfterFunc(a.stopping, stop)()
	reopen, returned, later := h.watcher.Reopen(), h.canReopen, make(<-chan time.Time)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.exchanged:
			if h.isExchanged(ctx) {
				if next := h.again(ctx, a); next != nil {
					return next
				}
			}
			continue
		case <-a.reload:
		case <-reopen:
			reopen, later = nil, time.After(h.opened.due())
			continue
		case <-returned:
			returned, later = nil, time.After(h.opened.due())
			continue
		case <-later:
			h.opened.asked()
			if next := h.again(ctx, a); next != nil {
				return next
			}
			later = time.After(h.opened.due())
			continue
		}
		if a.stopping.Err() != nil {
			h.reloads.finish(errStopped)
			return nil // HUP and a stop came together: do not reload
		}
		h.reloads.take()
		next, err := h.reread(ctx, a)
		switch {
		case ctx.Err() != nil:
			h.reloads.finish(errStopped)
			return nil
		case errors.Is(err, errOvertaken):
			h.Log.Info("the configuration no longer waits for a launcher", "because", err)
		case err != nil:
			h.Log.Error("the configuration is not reloaded: the watcher takes nothing of it, and keeps the old one", "error", err)
			h.reloads.finish(err)
		case next != nil:
			h.notify.reloading()
			return next
		default:
			h.reloads.add(h.closed.lines())
			h.reloads.finish(nil)
		}
	}
}

// again returns this host's options for a next host under the same configuration, or nil if that host could not open
// everything now. Then this host serves on. If one parent moves something, or a site comes and goes, that must not end
// the host for all.
func (h *host) again(ctx context.Context, a asked) *Options {
	if a.stopping.Err() != nil {
		return nil
	}
	err := h.mayBecome(ctx, h.Config)
	if err == nil {
		err = h.awaitLaunchers(ctx, a, h.Config)
	}
	if err != nil {
		h.Log.Warn("not everything can be opened again; the watcher serves on as before", "error", err)
		return nil
	}
	h.Log.Info("opening everything again, with the same configuration")
	next := h.Options
	return &next
}

// paced slows down a parent that moves its directory to and fro: it must not have everything opened anew as often as it
// likes. Each reopening waits twice as long as the last, unless that was long ago.
type paced struct {
	last  time.Time
	pause time.Duration
}

// These are pauses between two reopenings of everything.
const (
	shortestPace = time.Second
	longestPace  = time.Minute
	calmPace     = 10 // after this many pauses without a reopening, the shortest one applies again
)

// due returns how long it takes until the next reopening.
func (p *paced) due() time.Duration { return max(0, time.Until(p.last.Add(p.pause))) }

func (p *paced) asked() {
	if time.Since(p.last) > calmPace*p.pause {
		p.pause = 0
	}
	p.last, p.pause = time.Now(), min(max(2*p.pause, shortestPace), longestPace)
}

// boot stands for the beginning of the monotonic clock. A service manager compares such times only with each other.
var boot = time.Now()

// reread reads the configuration again. The result is nil if nothing has changed.
func (h *host) reread(ctx context.Context, a asked) (*Options, error) {
	config, log, err := h.Reload()
	if err != nil {
		return nil, err
	}
	changes := h.Config.Changes(config)
	if len(changes) == 0 {
		h.Log.Info("the configuration has not changed")
		return nil, nil
	}
	if err := h.mayBecome(ctx, config); err != nil {
		return nil, err
	}
	if err := h.awaitLaunchers(ctx, a, config); err != nil {
		return nil, err
	}
	for _, change := range changes {
		h.Log.Info("reloading the configuration", "change", change)
	}
	h.reloads.found(changes)
	next := h.Options
	next.Config, next.Log = config, log
	return &next, nil
}

// mayBecome returns an error if a watcher with children cannot go on under another configuration. The launchers of that
// configuration must answer, too: without them the next watcher could not start, and this one would be gone by then.
func (h *host) mayBecome(ctx context.Context, c configs.Config) error {
	if c.State != h.Config.State {
		return fmt.Errorf("state would be %s, but is %s; restart the watcher to change it", c.State, h.Config.State)
	}
	if was, is := h.Config.GatewayState(), c.GatewayState(); was != is {
		return fmt.Errorf("gateway.state would be %s, but is %s, where the doors of running children are; restart the watcher to change it", is, was)
	}
	if key, was, is := h.Config.MovedSocket(c); key != "" {
		return fmt.Errorf("%s would be %s, but is %s; restart the watcher to change it", key, is, was)
	}
	f, err := h.examine(ctx, c)
	for _, o := range c.Outboxes {
		if why := f.closed[o.Name]; why != nil && !errors.Is(why, errSilent) && h.namesMissing(o) {
			err = errors.Join(err, why)
		}
	}
	if err != nil {
		return err
	}
	return reach(ctx, h.Launchers, c)
}

// namesMissing reports whether a new configuration gives an outbox a directory that the outbox did not have before, and
// that does not exist. Then the operator has made a mistake. A directory that the outbox had before could have been
// moved by a parent.
func (h *host) namesMissing(o configs.Outbox) bool {
	var had []string
	for _, was := range h.Config.Outboxes {
		if was.Name == o.Name {
			had = slices.Concat([]string{was.Dir}, was.Allow, was.Read)
		}
	}
	return slices.ContainsFunc(slices.Concat([]string{o.Dir}, o.Allow, o.Read), func(dir string) bool {
		if slices.Contains(had, dir) {
			return false
		}
		info, err := os.Stat(dir)
		return err != nil || !info.IsDir()
	})
}

// ErrBetween says that no next host has taken up the runs that a reload left to it.
var ErrBetween = errors.New("killed in the middle of a reload: running and waiting requests are left to the next start")

// retries is how often a watcher that is told to stop still tries to open the configuration that it served.
const retries = 5

// slowestRetry is the longest pause between two such tries, in seconds.
const slowestRetry = 30

// replace opens the host of a new configuration after this host, which has left its runs to it. If that fails, the old
// configuration serves on. If the watcher is told to stop meanwhile, the next host first takes up the runs, to end
// them. If it is told twice, the next host does not.
func (h *host) replace(ctx context.Context, a asked, next Options) (*host, error) {
	ctx, stop := a.unhurried(ctx)
	defer stop()
	replaced, err := open(ctx, next)
	if err != nil && ctx.Err() == nil {
		h.Log.Error("the new configuration cannot be served; the watcher keeps the old one", "error", err)
		h.reloads.finish(fmt.Errorf("it cannot be served, and the watcher keeps the old one: %w", err))
		previous := h.Options
		replaced, err = open(ctx, previous)
		for try := 1; err != nil && (a.stopping.Err() == nil || try <= retries); try++ { // a site may be gone only for a moment
			h.Log.Warn("the earlier configuration cannot be opened again yet; trying again", "error", err)
			if retry.Pause(ctx, time.Second*time.Duration(min(try, slowestRetry))) != nil {
				break
			}
			replaced, err = open(ctx, previous)
		}
	}
	if replaced == nil && err == nil {
		err = ErrBetween
	}
	return replaced, err
}
