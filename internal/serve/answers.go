package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"torno/configs"
)

// How long an engine may take to say that it is there, and how long it is left alone when it has not. One that needs longer
// hangs.
var (
	answerTime  = 5 * time.Second
	answerPause = time.Second
)

// errOvertaken says that a configuration waits no longer because it is to be read once more.
var errOvertaken = errors.New("it is to be read once more")

// awaitAnswers waits, while the old configuration is served on, until every engine answers that is opened for the new one.
// The host that comes next can do nothing before that: nobody would be served, and what runs elsewhere would run without
// anybody to watch it. An engine that is away is not waited for, unless it hung before and is being started again.
func (h *host) awaitAnswers(ctx context.Context, a asked, c configs.Config) error {
	for waits := false; ; {
		hangs, err := h.askEngines(ctx, c)
		if err == nil || ctx.Err() != nil || !hangs && !waits {
			return errors.Join(err, ctx.Err())
		}
		if !waits {
			waits = true
			defer h.watcher.ReloadWaits(err)()
		}
		select {
		case <-time.After(answerPause):
		case <-ctx.Done():
		case <-a.reload:
			a.askReload()
			return errOvertaken
		}
	}
}

// askEngines asks those that profiles name, those that have runs now, and those that auto may choose; of the last ones it
// only matters whether they hang.
func (h *host) askEngines(ctx context.Context, c configs.Config) (hangs bool, err error) {
	named, spare, err := h.Engines.wanted(c)
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
		asking, cancel := context.WithTimeout(ctx, answerTime)
		_, err := h.Engines[name].About(asking, c)
		hangs := err != nil && asking.Err() != nil
		cancel()
		if hangs || err != nil && slices.Contains(needed, name) {
			return hangs, fmt.Errorf("%s does not answer: %w", name, err)
		}
	}
	return false, nil
}
