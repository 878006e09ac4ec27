package run

import (
	"cmp"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/approvals"
	"torno/watcher/output"
)

// Adopt continues a run of an earlier watcher in the sandbox of its record, under the terms of its release. reason says
// why the run is to be ended, "" if it may go on. stranded says why its site cannot be reached, nil if it can.
func (runs *Runs) Adopt(q Request, c Client, record journal.Run, h sandbox.Handle, reason delegation.Reason, stranded error) {
	r := runs.newRun(q, *record.Terms, c)
	r.workspace = cmp.Or(record.Handle.Workspace, r.workspace)
	h.Device, h.Inode, h.Workspace, h.Above = record.Handle.Device, record.Handle.Inode, record.Handle.Workspace, record.Handle.Above
	r.launcher, r.launcherName = runs.Launchers[h.Launcher], h.Launcher
	r.handle, r.admitted = h, record.Created
	r.endedBefore = h.State == sandbox.HandleExited && record.Ending == nil
	r.sandbox = record.Sandbox
	progress := runs.Notes.Load(r.hash)
	r.inputs.resume(progress.Input)
	r.out.Resume(progress, output.NotAhead(record.Started), r.client.CompleteLive(progress))
	r.times.created, r.release = record.Created, releaseOf(record, runs.Clock)
	r.standing.now = Standing{Phase: phaseOf(record.State), Started: r.out.StartedAt, Input: r.inputs.status()}
	if r.standing.now.Phase == Bound {
		r.standing.now.Phase = Released
	}
	r.takeUpQuestions(approvals.Shown{Asked: progress.Asked, Decided: progress.Decided})
	if record.Ending != nil {
		r.resumeEnding(*record.Ending)
	}
	if reason != "" {
		r.End(reason)
	}
	if stranded != nil {
		r.standing.now.Stranded = stranded.Error()
	}
	r.claimAdopted()
	runs.own(r.Run)
	runs.Schedule.Adopt(runs.Life, &r.ticket)
}

// claimAdopted keeps other runs out of the directory in which an adopted run works, and out of all directories above
// it. If the journal does not name these directories, no other run works anywhere.
func (r *runner) claimAdopted() {
	r.ticket.Above, r.ticket.Anywhere = r.handle.Above, len(r.handle.Above) == 0
}
