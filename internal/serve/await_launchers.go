package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"torno/configs"
)

// Timing says how long a host waits for launchers that hang, and for sites that are exchanged. A time of 0 means its
// default.
type Timing struct {
	Respond time.Duration // time for a launcher to answer that it is there; a launcher that needs longer hangs
	Pause   time.Duration // how long a launcher is left alone after it has not answered
	// Exchange is how long another site must have answered before the host opens the launchers anew. If a site is
	// replaced only for a moment, the host waits until it is back.
	Exchange time.Duration
	Gateway  time.Duration // between two looks at the model gateway
	Patience time.Duration // how long one such look may take
}

func (t Timing) respond() time.Duration { return cmp.Or(t.Respond, 5*time.Second) }
func (t Timing) pause() time.Duration   { return cmp.Or(t.Pause, time.Second) }

func (t Timing) exchange() time.Duration { return cmp.Or(t.Exchange, 2*time.Second) }

// errOvertaken says that a configuration no longer waits, because the watcher was told to read it once more.
var errOvertaken = errors.New("the watcher was told to read it once more")

// awaitLaunchers waits until no launcher of the new configuration hangs. Meanwhile the old configuration is served.
// With a launcher that hangs, the next host could do nothing: it would serve no outbox, and look after nothing that
// runs on other launchers. awaitLaunchers does not wait for a launcher that is away, unless that launcher hung before
// and is being started again.
func (h *host) awaitLaunchers(ctx context.Context, a asked, c configs.Config) error {
	for waits := false; ; {
		hangs, err := h.askLaunchers(ctx, c)
		if err == nil || ctx.Err() != nil || !hangs && !waits {
			return errors.Join(err, ctx.Err())
		}
		if !waits {
			waits = true
			defer h.watcher.ReloadWaits(err)()
			h.reloads.waitFor(err.Error())
			defer h.reloads.waitFor("")
		}
		select {
		case <-time.After(h.Timing.pause()):
		case <-ctx.Done():
		case <-a.reload:
			a.askReload()
			return errOvertaken
		}
	}
}

// askLaunchers asks the launchers that profiles name, that have runs now, or that auto may choose. For the last kind it
// only matters whether they hang.
func (h *host) askLaunchers(ctx context.Context, c configs.Config) (hangs bool, err error) {
	named, spare, err := wanted(h.Launchers, c)
	if err != nil {
		return false, err
	}
	runs, err := h.unfinished(ctx)
	if err != nil {
		return false, err
	}
	needed := slices.AppendSeq(named, maps.Keys(runs))
	slices.Sort(needed)
	needed = slices.Compact(needed)
	for _, name := range slices.Concat(needed, spare) {
		asking, cancel := context.WithTimeout(ctx, h.Timing.respond())
		_, err := h.Launchers.Find(name).About(asking, c.SettingsOf(name))
		hangs := err != nil && asking.Err() != nil
		cancel()
		if hangs || err != nil && slices.Contains(needed, name) {
			return hangs, fmt.Errorf("%s does not answer: %w", name, err)
		}
	}
	return false, nil
}
