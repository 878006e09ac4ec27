package outbox

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/crash"
	"torno/internal/journal"
)

// ErrNotAsked says that it is known which outbox a directory is.
var ErrNotAsked = errors.New("the name leads to the outbox's own directory, or did when the watcher looked last; if it does not now, " +
	"restart the watcher first")

// Accept binds the directory that is held, as the same outbox as before or as another one.
func (o *Outbox) Accept(ctx context.Context, same bool) (accepted journal.Outbox, err error) {
	if o.elsewhere == nil || o.accepted.Load() {
		return accepted, fmt.Errorf("%s: %w", o.Name, ErrNotAsked)
	}
	if err := o.Dir.Alive(); err != nil {
		return accepted, errors.Join(errors.New("the directory that was found there has gone again, so nothing is accepted"), err)
	}
	if accepted, err = o.acceptable(ctx, same); err != nil {
		return accepted, err
	}
	accepted.Name, accepted.Path, accepted.Directory = o.Name, o.Dir.Path(), o.here
	crash.At("outbox.accepted")
	if err := o.Journal.AcceptOutbox(ctx, accepted); err != nil {
		return accepted, err
	}
	o.accepted.Store(true)
	o.log.Warn("an operator has accepted a directory", "same", same, "id", accepted.ID, "directory", o.here.String())
	return accepted, nil
}

// acceptable is the outbox that a directory would be.
func (o *Outbox) acceptable(ctx context.Context, same bool) (journal.Outbox, error) {
	switch {
	case same && o.found.ID != "":
		return o.found, fmt.Errorf("the directory is that of the outbox that was called %s, and what lies there would run again under another one; "+
			"accept it as what it is with --new, or mount the right directory", o.found.Name)
	case same && o.known.ID == "":
		return o.known, errors.New("no outbox is known that this directory could be; accept it with --new, or take its name out of the configuration")
	case same:
		accepted := o.known
		accepted.Lost = accepted.Lost || o.servedAsAnother()
		return accepted, nil
	case o.found.ID != "":
		return o.found, nil
	}
	known, err := o.Journal.Outboxes(ctx)
	served, _ := o.served()
	return journal.Outbox{ID: journal.NewOutboxID(known), Lost: served}, err
}
