package identity

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/crash"
	"torno/internal/journal"
)

// ErrNotAsked means that the directory's outbox is known, so there is nothing to decide.
var ErrNotAsked = errors.New("the name leads to the outbox's own directory, or did when the watcher last looked; if it leads to another directory now, " +
	"restart the watcher first")

// Accept binds the held directory as an operator has decided: as the same outbox as before, or as a different outbox.
func (c *Claim) Accept(ctx context.Context, same bool) (accepted journal.Outbox, err error) {
	if c.elsewhere == nil || c.accepted.Load() {
		return accepted, fmt.Errorf("%s: %w", c.Name, ErrNotAsked)
	}
	if err := c.Dir.Alive(); err != nil {
		return accepted, errors.Join(errors.New("the directory that the watcher found there is gone again, so the watcher accepts nothing"), err)
	}
	if accepted, err = c.acceptable(ctx, same); err != nil {
		return accepted, err
	}
	accepted.Name, accepted.Path, accepted.Directory = c.Name, c.Dir.Path(), c.Here
	crash.At("outbox.accepted")
	if err := c.journal.KeepOutboxes(ctx, []journal.Outbox{accepted}); err != nil {
		return accepted, err
	}
	c.accepted.Store(true)
	c.log.Warn("an operator has accepted a directory", "same", same, "id", accepted.ID, "directory", c.Here.String())
	return accepted, nil
}

// acceptable returns the outbox that the directory would become, or an error if the operator's decision is impossible.
func (c *Claim) acceptable(ctx context.Context, same bool) (journal.Outbox, error) {
	switch {
	case same && c.found.ID != "":
		return c.found, fmt.Errorf("the directory belongs to the outbox that was called %s, and its requests would run again under another outbox; "+
			"accept it as that outbox with --new, or mount the right directory", c.found.Name)
	case same && c.known.ID == "":
		return c.known, errors.New("the watcher knows no outbox that this directory could be; accept it with --new, or remove its name from the configuration")
	case same:
		accepted := c.known
		accepted.Lost = accepted.Lost || c.servedAsAnother(accepted)
		return accepted, nil
	case c.found.ID != "":
		return c.found, nil
	}
	known, err := c.journal.Outboxes(ctx)
	served, _ := c.served()
	return journal.Outbox{ID: journal.NewOutboxID(known), Lost: served}, err
}
