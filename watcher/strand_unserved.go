package watcher

import (
	"context"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/schedule"
)

// leaveAside leaves everything of a run as it is whose outbox's directory is not there: nobody can tell whether its client still
// waits. Its workspace stays taken. A sandbox in which nothing ever ran, or whose run has ended, is of no use to it.
func (w *Watcher) leaveAside(ctx context.Context, box *outbox, record journal.Run, h sandbox.Handle, there bool) {
	w.aside[record.Key] = true
	switch {
	case !there && w.isElsewhere(record):
		ticket := reservation(record)
		w.deserted.Store(record.Key, ticket)
		w.schedule.Reserve(ctx, ticket)
		w.log.Warn("a run is stranded, and its outbox is not served", "outbox", record.Outbox, "run", record.Key,
			"error", record.Handle.On(w.engines[record.Handle.Launcher]))
		return
	case !there:
		return
	case record.Handle == nil || record.State == delegation.StateEnded:
		if h.State != sandbox.HandleUncertain {
			w.road.RemoveLater(record.Key, h)
		}
		return
	}
	w.road.CountLeft()
	w.schedule.Reserve(ctx, reservation(record))
	w.log.Warn("a run goes on without a watcher until the directory of its outbox is back", "outbox", box.name, "run", record.Key)
}

// reservation is the ticket of a run without a watcher: it keeps the run's workspace and its subagent.
func reservation(record journal.Run) *schedule.Ticket {
	return &schedule.Ticket{
		Subject: schedule.Subject{Outbox: record.Outbox, Subagent: record.Subagent}, Above: record.Handle.Above,
		Anywhere: len(record.Handle.Above) == 0,
	}
}
