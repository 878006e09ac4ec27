package main

import (
	"context"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"torno/internal/cli"
	"torno/internal/control"
)

// watchRuns shows runs once a second: on a terminal in the place of the last ones. Elsewhere, and with JSON, a run is printed when it
// is new or stands elsewhere than before. An interrupt is how one ends a look.
func (a *app) watchRuns(ctx context.Context, q control.Query) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	seen := watched{}
	tick := time.NewTicker(topPause)
	defer tick.Stop()
	for {
		err := a.ask(ctx, func(s control.Service) error {
			runs, err := s.Runs(ctx, q)
			if err != nil {
				return err
			}
			if a.Out.Terminal && !a.JSON {
				a.repaint(runs, time.Now())
				return a.Out.Err()
			}
			return a.printNews(seen.news(runs))
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// repaint draws the runs that fit over what the terminal shows.
func (a *app) repaint(runs []control.Run, now time.Time) {
	width, height := a.Out.Size()
	if width < 1 || height < 1 {
		width, height = usualWidth, usualHeight
	}
	lines := cut(snapshot{now: now, runs: runs}.table(height-1, width), width)
	io.WriteString(a.Out, frame(lines, a.Out.Paint)+"\r\n")
}

// watched is where runs stood when they were printed last, by their keys.
type watched map[string]cli.Cell

// news are the runs that are new or stand elsewhere, the oldest first. One that is no longer listed is forgotten.
func (w *watched) news(runs []control.Run) (changed []control.Run) {
	now := watched{}
	for _, r := range runs {
		// The time that it runs is no news.
		now[r.Key] = stateOf(r, r.Started)
		if before, ok := (*w)[r.Key]; !ok || before != now[r.Key] {
			changed = append(changed, r)
		}
	}
	*w = now
	slices.Reverse(changed)
	return changed
}

func (a *app) printNews(runs []control.Run) error {
	if a.JSON {
		for _, r := range runs {
			if err := a.Out.Object(r); err != nil {
				return err
			}
		}
	} else if len(runs) > 0 {
		a.Out.Table("", runRows(runs, time.Now())[1:])
	}
	return a.Out.Err()
}
