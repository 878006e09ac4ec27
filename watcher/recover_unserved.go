package watcher

import (
	"context"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/outbox"
	"torno/watcher/schedule"
)

// keepUnserved keeps a run as it is while its outbox's directory is missing, because its client may still wait. The
// workspace stays reserved. There are two exceptions: keepUnserved removes a sandbox if nothing ever ran there or its
// run has ended, and it ends a run that was already being ended. It lists the run last, because an operator can end a run
// as soon as it is listed.
func (rec *recovery) keepUnserved(ctx context.Context, box *outbox.Outbox, record journal.Run, h sandbox.Handle, there bool) error {
	u := newUnserved(record, box)
	defer rec.unserved.add(u)
	switch {
	case record.State == delegation.StateEnded || there && record.Handle == nil:
		u.over.Store(record.State == delegation.StateEnded)
		if there && h.State != sandbox.HandleUncertain {
			rec.runs.Removals.Later(record.Key, h)
		}
		return nil
	case !there && rec.isElsewhere(record):
		rec.reserveStranded(ctx, u)
		return nil
	case !there:
		return nil
	}
	if record.Ending != nil && h.State != sandbox.HandleUncertain {
		if err := rec.runs.Removals.Now(h); err != nil {
			rec.reserveUntilDead(ctx, u, h, record.Ending.Change(), err)
			return nil
		}
		return rec.endAside(ctx, u, record.Ending.Change())
	}
	rec.runs.Removals.CountLeft(1)
	u.handle, u.ticket = h, reservation(record)
	rec.schedule.Reserve(ctx, u.ticket)
	rec.log.Warn("a run goes on without a watcher until the directory of its outbox is back", "outbox", box.Name, "run", record.Key)
	return nil
}

// reserveUntilDead keeps the workspace of a run that is to end, until nothing runs in its sandbox.
func (rec *recovery) reserveUntilDead(ctx context.Context, u *unserved, h sandbox.Handle, end journal.Change, why error) {
	rec.log.Warn("a run that is to end keeps its place until its sandbox can be removed", "outbox", u.record.Outbox, "run", u.record.Key, "sandbox", h.ID, "error", why)
	u.handle, u.ticket, u.end = h, reservation(u.record), &end
	rec.schedule.Reserve(ctx, u.ticket)
}

// endAside ends a run that was already being ended and whose sandbox is dead. Its client is answered when the directory
// is back.
func (rec *recovery) endAside(ctx context.Context, u *unserved, end journal.Change) error {
	rec.log.Info("a run that was already being ended has ended; the watcher writes its response when the directory of its outbox is back", "outbox", u.box.Name, "run", u.record.Key)
	u.over.Store(true)
	crash.At("unserved.ended")
	return rec.journal.Move(ctx, u.record.Key, u.record.State, delegation.StateEnded, end)
}

// reserveStranded handles a run whose sandbox is on another site and whose outbox is not served. It only keeps the run's
// workspace and subagent reserved.
func (rec *recovery) reserveStranded(ctx context.Context, u *unserved) {
	u.why, u.ticket = u.record.Handle.On(rec.sites[u.record.Handle.Launcher]), reservation(u.record)
	rec.schedule.Reserve(ctx, u.ticket)
	rec.log.Warn("a run is stranded, and its outbox is not served", "outbox", u.record.Outbox, "run", u.record.Key, "error", u.why)
}

// reservation returns the ticket for a run without a watcher. The ticket reserves the run's workspace and its subagent.
func reservation(record journal.Run) *schedule.Ticket {
	return &schedule.Ticket{
		Subject: schedule.Subject{Outbox: record.Outbox, Subagent: record.Subagent}, Above: record.Handle.Above,
		Anywhere: len(record.Handle.Above) == 0,
	}
}
