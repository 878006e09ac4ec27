package main

import (
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

// progress says on standard error what a wait waits for. Where a run stands is for people who look on; that nobody serves
// the outbox, or that the watcher is in trouble, is for everybody.
func (c *app) progress(run *manager.Run) func(manager.Progress) {
	var last manager.Progress
	return func(now manager.Progress) {
		switch {
		case now.Nobody != nil:
			c.Line(cli.Yellow, "subagent:", fmt.Sprintf("%v; the request of %s stays, and is waited for", now.Nobody, run.ID()))
		case last.Nobody != nil:
			c.Say("the outbox is served again")
		}
		c.notices(now.Notices, last.Notices)
		if where := standing(now); c.Errors.Terminal && where != standing(last) {
			c.Line(cli.Dim, run.ID()+":", where)
		}
		last = now
	}
}

// notices shows what the watcher has to say and has not said before.
func (c *app) notices(now, before delegation.Notices) {
	for _, notice := range now {
		if !slices.Contains(before, notice) {
			c.Line(cli.Yellow, "watcher:", notice.Text)
		}
	}
}

// standing says in a word or two where a run stands.
func standing(p manager.Progress) string {
	switch {
	case p.State == delegation.StateQueued && p.Position > 0:
		return fmt.Sprintf("queued, %d.", p.Position)
	case p.State == "":
		return "unnoticed"
	}
	return string(p.State)
}
