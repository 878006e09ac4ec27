package run

import (
	"cmp"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
)

// Adopt has a run of an earlier watcher go on in the sandbox of its record, under the terms of its release. reason is why it is to be ended, "" where
// it may go on; stranded is why its site cannot be reached, nil where it can.
func (runs *Runs) Adopt(q Request, c Client, record journal.Run, h sandbox.Handle, reason delegation.Reason, stranded error) {
	r := runs.newRun(q, termsOf(record, q), c)
	r.workspace = cmp.Or(record.Handle.Workspace, r.workspace)
	h.Device, h.Inode, h.Workspace, h.Above = record.Handle.Device, record.Handle.Inode, record.Handle.Workspace, record.Handle.Above
	r.launcher, r.launcherName = runs.Launchers[h.Launcher], h.Launcher
	r.handle, r.admitted = h, record.Created
	r.sandbox = record.Sandbox
	progress := runs.Notes.Load(r.hash)
	r.inputs.resume(progress.Input)
	r.out.Resume(progress, output.NotAhead(record.Started), r.client.CompleteLive(progress))
	r.times.created, r.release = record.Created, releaseOf(record, runs.Clock)
	r.standing.now = Standing{State: record.State, Released: true, Started: r.out.StartedAt, Input: r.inputs.status()}
	r.takeUpQuestions()
	r.goOnEnding(runs.endingOf(r.hash))
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

// termsOf are the terms of a run's release. An earlier version has not noted them: its runs are adopted to be ended.
func termsOf(record journal.Run, q Request) sandbox.Spec {
	if record.Terms == nil {
		return q.Spec
	}
	return *record.Terms
}

// claimAdopted finds out which directory an adopted run works in. The journal says it, unless an earlier version wrote the
// record: then what is at its path counts if it is the directory that was mounted.
func (r *runner) claimAdopted() {
	r.ticket.Above = r.handle.Above
	if len(r.ticket.Above) > 0 {
		return
	}
	mounted := sandbox.Directory{Device: r.handle.Device, Inode: r.handle.Inode}
	r.lookAbove()
	if len(r.ticket.Above) == 0 || r.ticket.Above[0] != mounted {
		r.ticket.Above, r.ticket.Anywhere = nil, true
	}
}
