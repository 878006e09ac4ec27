package run

import (
	"cmp"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
)

// Adopt has a run of an earlier watcher go on in the sandbox of its record. reason is why it is to be ended, "" where it may go on; stranded is why its engine
// cannot be reached, nil where it can.
func (w *Road) Adopt(q Request, c Client, record journal.Run, h sandbox.Handle, reason delegation.Reason, stranded error) {
	r := w.newRun(q, c)
	r.workspace = cmp.Or(record.Handle.Workspace, r.workspace)
	h.Device, h.Inode, h.Workspace, h.Above = record.Handle.Device, record.Handle.Inode, record.Handle.Workspace, record.Handle.Above
	r.launcher, r.engine = w.Launchers[h.Launcher], h.Launcher
	r.handle, r.state, r.admitted = h, record.State, record.Created
	r.sandbox, r.attested = record.Sandbox, record.Attestation
	r.released.Store(true)
	r.out.Resume(w.Notes.Load(r.hash), output.NotAhead(record.Started), r.client.HasLive)
	r.times.created, r.times.started, r.release = record.Created, r.out.StartedAt, releaseOf(record)
	r.goOnEnding(w.endingOf(r.hash))
	if reason != "" {
		r.End(reason)
	}
	if stranded != nil {
		why := stranded.Error()
		r.stranded.Store(&why)
	}
	w.claimAdopted(r)
	w.own(r)
	w.Schedule.Adopt(w.Life, &r.ticket)
}

// claimAdopted finds out which directory an adopted run works in. The journal says it, unless an earlier version wrote the
// record: then what is at its path counts if it is the directory that was mounted.
func (w *Road) claimAdopted(r *Run) {
	r.ticket.Above = r.handle.Above
	if len(r.ticket.Above) > 0 {
		return
	}
	mounted := sandbox.Directory{Device: r.handle.Device, Inode: r.handle.Inode}
	w.lookAbove(r)
	if len(r.ticket.Above) == 0 || r.ticket.Above[0] != mounted {
		r.ticket.Above, r.ticket.Anywhere = nil, true
	}
}
