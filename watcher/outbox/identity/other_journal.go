package identity

import (
	"context"
	"fmt"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// What lies in an outbox that a watcher with another journal served may have run, and no record of ours says so. It is looked
// through once before anything there runs.

// servedByAnother says whether a watcher of another installation was the last one to serve the directory.
func (c *Claim) servedByAnother() bool {
	_, m := c.served()
	return m.installation != "" && m.installation != c.journal.Installation()
}

// servedAsAnother says whether a watcher of this installation was the last one to serve the directory, as another outbox than the known one.
func (c *Claim) servedAsAnother() bool {
	_, m := c.served()
	return m.installation == c.journal.Installation() && m.ID != "" && m.ID != c.known.ID
}

func (c *Claim) tellLost() {
	c.log.Warn("a watcher with another journal served this outbox; requests that lie there now are refused, since they may have run",
		"code", delegation.CodeJournalLost)
}

// TakeOver finds out whether a watcher of another installation served the outbox while this one could not: what lies there may have
// run. It comes before anything is written there, since watcher.json tells it.
func (c *Claim) TakeOver(ctx context.Context) error {
	if c.Lost || !c.servedByAnother() {
		return nil
	}
	lost := c.known
	lost.Lost = true
	crash.At("outbox.kept")
	if err := c.journal.KeepOutboxes(ctx, []journal.Outbox{lost}); err != nil {
		return fmt.Errorf("note that another watcher served the outbox: %w", err)
	}
	c.known, c.Lost = lost, true
	c.tellLost()
	return nil
}

// LookedThrough notes that everything that lay in a lost outbox was looked at: what comes from now on has not run.
func (c *Claim) LookedThrough(ctx context.Context) error {
	crash.At("outbox.looked-through")
	if err := c.journal.LookedThrough(ctx, c.ID); err != nil {
		return err
	}
	c.Lost = false
	c.log.Info("what lay in the outbox was looked through; requests are served from now on")
	return nil
}
