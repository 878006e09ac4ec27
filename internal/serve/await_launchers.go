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

// Timing says how long a host waits for launchers that hang, and for sites that are exchanged. A time of 0 has its default.
type Timing struct {
	Respond time.Duration // how long a launcher may take to say that it is there; a launcher that needs longer hangs
	Pause   time.Duration // how long it is left alone when it has not
	// Exchange is how long another site must have answered before the launchers are opened anew: a site that is only
	// replaced for a moment is waited for.
	Exchange time.Duration
	Gateway  time.Duration // between two looks at the model gateway
	Patience time.Duration // how long one of them may take
}

func (t Timing) respond() time.Duration { return cmp.Or(t.Respond, 5*time.Second) }
func (t Timing) pause() time.Duration   { return cmp.Or(t.Pause, time.Second) }

func (t Timing) exchange() time.Duration { return cmp.Or(t.Exchange, 2*time.Second) }

// errOvertaken says that a configuration waits no longer because it is to be read once more.
var errOvertaken = errors.New("it is to be read once more")

// awaitLaunchers waits, while the old configuration is served on, until no launcher of the new one hangs. The next host can do
// nothing before that: no outbox would be served, and no watcher would look after what runs on other launchers. It does not
// wait for a launcher that is away, unless that hung before and is being started again.
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

// askLaunchers asks the launchers that profiles name, that have runs now, or that auto may choose; for the last ones it only
// matters whether they hang.
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
