package main

import (
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

// showUpdates returns a function that reports on standard error while the command waits. It shows the state of the run
// only at a terminal, for a person. It also writes to a file or a pipe that no watcher serves the outbox, or that the
// watcher is in trouble.
func (c *app) showUpdates(run *manager.Run) func(manager.WaitUpdate) {
	var last manager.WaitUpdate
	return func(now manager.WaitUpdate) {
		switch {
		case now.NotServing != nil:
			c.Line(cli.Yellow, "subagent:", fmt.Sprintf("%v; the request of %s stays, and this command waits for it", now.NotServing, run.ID()))
		case last.NotServing != nil:
			c.Say("the outbox is served again")
		}
		c.notices(now.Notices, last.Notices)
		if c.Errors.Terminal && stateText(now) != stateText(last) {
			c.Line(cli.Dim, run.ID()+":", stateText(now))
		}
		c.questions(run.ID(), now.Approvals, last.Approvals)
		last = now
	}
}

// notices shows the new notices of the watcher.
func (c *app) notices(now, before delegation.Notices) {
	for _, notice := range now {
		if !slices.Contains(before, notice) {
			c.Line(cli.Yellow, "watcher:", notice.Text)
		}
	}
}

// questions shows the new questions. A child waits for the answer, so they also go to a file or a pipe.
func (c *app) questions(id string, now, before []delegation.PendingApproval) {
	for _, a := range now {
		if !slices.ContainsFunc(before, func(b delegation.PendingApproval) bool { return a.Digest == b.Digest && a.Approval == b.Approval }) {
			c.Line(cli.Yellow, id+" asks:", fmt.Sprintf("%s; to decide: subagent approve %s %s, or subagent deny with the same words", askText(a), id, nameOf(a)))
		}
	}
}

// stateText returns the state of a run in a word or two.
func stateText(p manager.WaitUpdate) string {
	switch {
	case p.State == delegation.StateQueued && p.Position > 0:
		return fmt.Sprintf("queued, %d.", p.Position)
	case p.State == "":
		return "unnoticed"
	}
	return string(p.State)
}
