package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/events"
	"torno/internal/journal"
)

// Events shows the events of a run, from the watcher's own log. A follower stays until the run and its later attempts
// are over.
func (o *Operator) Events(ctx context.Context, ref string, q control.EventQuery, emit func(control.EventLine) error) error {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return err
	}
	if o.History == nil {
		return fmt.Errorf("%w: %s", control.ErrNoEvents, record.Key)
	}
	reader, err := o.History.Read(record.RunKey(), q.Since)
	if errors.Is(err, events.ErrReaders) {
		return control.ErrReaders
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	show := func(e delegation.Event) error { return emit(control.EventLine{Event: &e}) }
	for {
		over, err := o.hasEnded(ctx, record)
		if err != nil {
			return err
		}
		if err := reader.Each(ctx, show); err != nil {
			return err
		}
		newest, ended := reader.Newest()
		switch {
		case ended || over || !q.Follow || o.Watcher == nil:
			if newest == 0 && over {
				return fmt.Errorf("%w: %s", control.ErrNoEvents, record.Key)
			}
			return emit(control.EventLine{End: &control.EventsEnd{Newest: newest, Over: ended || over}})
		}
		if err := o.awaitEvents(ctx, record, reader); err != nil {
			return err
		}
	}
}

// hasEnded reports whether a run and its later attempts are over and their events are complete. The watcher writes the
// last events a moment after the journal has the end, so hasEnded also waits until no goroutine carries the run.
func (o *Operator) hasEnded(ctx context.Context, record journal.Run) (bool, error) {
	newest, known, err := o.Journal.Latest(ctx, record.Outbox, record.Subagent)
	if err != nil {
		return false, err
	}
	if !known || newest.Request != record.Request { // a later request has its own events
		newest, err = o.Journal.Get(ctx, record.Key)
		if errors.Is(err, journal.ErrUnknown) {
			return true, nil
		}
	}
	return err == nil && newest.State == delegation.StateEnded && (o.Watcher == nil || o.Watcher.runs.Running(newest.Key) == nil), err
}

// awaitEvents waits until the run may have more events, or may be over.
func (o *Operator) awaitEvents(ctx context.Context, record journal.Run, reader *events.Reader) error {
	var over <-chan struct{}
	look := time.NewTimer(lookAgain)
	defer look.Stop()
	later := look.C
	if r := o.Watcher.runs.Running(record.Key); r != nil {
		over, later = r.Over(), nil
	}
	select {
	case <-reader.Wake():
	case <-over:
	case <-later:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
