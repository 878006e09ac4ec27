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

// watchRuns lists runs once a second. On a terminal it repaints the list. Elsewhere, and with JSON, it prints a run
// when the run is new or its state has changed. An interrupt ends it without an error.
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

// repaint draws as many runs as fit, over the earlier list on the terminal.
func (a *app) repaint(runs []control.Run, now time.Time) {
	width, height := a.Out.Size()
	if width < 1 || height < 1 {
		width, height = usualWidth, usualHeight
	}
	lines := cut(snapshot{now: now, runs: runs}.table(height-1, width), width)
	io.WriteString(a.Out, frame(lines, a.Out.Paint)+"\r\n")
}

// watched maps the key of each run to its state when it was printed last.
type watched map[string]cli.Cell

// news returns the runs that are new or whose state has changed, the oldest first. It forgets runs that are no longer
// listed.
func (w *watched) news(runs []control.Run) (changed []control.Run) {
	now := watched{}
	for _, r := range runs {
		// Taken at the run's start, the state does not change with the time that the run takes.
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
