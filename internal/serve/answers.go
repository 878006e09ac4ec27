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

// Timing is how a host waits for launchers that hang, and for sites that are exchanged. What is 0 has its default.
type Timing struct {
	Answer time.Duration // how long a launcher may take to say that it is there; one that needs longer hangs
	Pause  time.Duration // how long it is left alone when it has not
	// Exchange is how long another site must have answered before the launchers are opened anew: a site that is only
	// replaced for a moment is waited for.
	Exchange time.Duration
}

func (t Timing) answer() time.Duration { return cmp.Or(t.Answer, 5*time.Second) }
func (t Timing) pause() time.Duration  { return cmp.Or(t.Pause, time.Second) }

func (t Timing) exchange() time.Duration { return cmp.Or(t.Exchange, 2*time.Second) }

// errOvertaken says that a configuration waits no longer because it is to be read once more.
var errOvertaken = errors.New("it is to be read once more")

// awaitAnswers waits, while the old configuration is served on, until every launcher answers that is opened for the new one.
// The host that comes next can do nothing before that: nobody would be served, and what runs elsewhere would run without
// anybody to watch it. A launcher that is away is not waited for, unless it hung before and is being started again.
func (h *host) awaitAnswers(ctx context.Context, a asked, c configs.Config) error {
	for waits := false; ; {
		hangs, err := h.askLaunchers(ctx, c)
		if err == nil || ctx.Err() != nil || !hangs && !waits {
			return errors.Join(err, ctx.Err())
		}
		if !waits {
			waits = true
			defer h.watcher.ReloadWaits(err)()
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

// askLaunchers asks those that profiles name, those that have runs now, and those that auto may choose; of the last ones it
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
		asking, cancel := context.WithTimeout(ctx, h.Timing.answer())
		_, err := h.Launchers.Find(name).About(asking, c.SettingsOf(name))
		hangs := err != nil && asking.Err() != nil
		cancel()
		if hangs || err != nil && slices.Contains(needed, name) {
			return hangs, fmt.Errorf("%s does not answer: %w", name, err)
		}
	}
	return false, nil
}
