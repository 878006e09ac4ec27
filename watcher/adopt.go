package watcher

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/watcher/output"
)

// adopt takes a sandbox over, to follow it to its end, or to bring that about where the request is gone or today's policy
// does not allow it any more.
func (w *Watcher) adopt(ctx context.Context, box *outbox, record journal.Run, h sandbox.Handle) error {
	if record.State == delegation.StateQueued { // the power went, and with it a move that is not flushed
		if err := w.journal.Move(ctx, record.Key, record.State, delegation.StateStarting, journal.Change{}); err != nil {
			return err
		}
		record.State = delegation.StateStarting
	}
	if err := w.noteEngine(ctx, record, h); err != nil {
		return err
	}
	a, reason := box.takeUp(record)
	r := w.newRun(a, a.key, a.warnings)
	r.workspace = cmp.Or(record.Handle.Workspace, r.workspace)
	h.Device, h.Inode, h.Workspace, h.Above = record.Handle.Device, record.Handle.Inode, record.Handle.Workspace, record.Handle.Above
	r.launcher, r.engine = w.launchers[h.Launcher], h.Launcher
	r.handle, r.state, r.admitted = h, record.State, record.Created
	r.sandbox, r.attested = record.Sandbox, record.Attestation
	r.released.Store(true)
	r.out.Resume(w.notes.Load(r.hash), output.NotAhead(record.Started), r.admission.HasLive)
	r.times.created, r.times.started, r.release = record.Created, r.out.StartedAt, releaseOf(record)
	r.goOnEnding(w.endingOf(r.hash))
	if reason != "" {
		r.End(reason)
	}
	w.log.Info("adopted a run of an earlier watcher", "outbox", box.name, "subagent", r.key.Subagent, "run", r.hash,
		"sandbox", h.State, "to_end", reason)
	if err := h.On(w.engines[h.Launcher]); err != nil {
		why := err.Error()
		r.stranded.Store(&why)
	}
	w.claimAdopted(r)
	w.own(r)
	w.schedule.Adopt(w.life, &r.ticket)
	return nil
}

// claimAdopted finds out which directory an adopted run works in. The journal says it, unless an earlier version wrote the
// record: then what is at its path counts if it is the directory that was mounted.
func (w *road) claimAdopted(r *run) {
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

// takeUp makes an admission of a record, from the request as it is now. The reason is why it must end, "" when it may go on. Its
// parent may have changed the request since, but not what the sandbox was made for: the profile is that of the record,
// and a request for another workspace is not the run's.
func (o *outbox) takeUp(record journal.Run) (a *admission, reason delegation.Reason) {
	in, reason := o.stillAsked(record)
	if reason == "" {
		in.request.Profile, _ = delegation.ParseToken(record.Profile)  // an operator's name that is no token is the default's
		spec, _, err := compile.Compile(in.request, o.settings.Policy) // what it warns of is in the record
		at := record.Handle.Workspace
		switch {
		case err != nil:
			reason = delegation.ReasonOperator
			record.Warnings = append(record.Warnings, "The watcher was started again and does not allow this run any more: "+err.Error())
		case at != "" && at != workspacePath(spec):
			reason = delegation.ReasonSuperseded
			record.Warnings = append(record.Warnings, "The request was changed while no watcher was there, and asks for another workspace now.")
		default:
			return o.admission(record.RunKey(), in, spec, record.Warnings), ""
		}
	}
	known := sandbox.Spec{Profile: record.Profile, Mounts: []sandbox.Mount{{Target: record.Workspace, Workspace: true}}}
	return o.admission(record.RunKey(), in, known, record.Warnings), reason
}

// stillAsked reads the request of a record once more, as hostile as ever. The reason is why nobody waits for the run any
// more, "" when somebody does. The same request may lie in another file by now.
func (o *outbox) stillAsked(record journal.Run) (in intake, reason delegation.Reason) {
	in = intake{name: record.FileName, read: record.Reading(), seen: record.Created}
	data, read, err := o.readSettled(record.FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return in, delegation.ReasonClientGone
	}
	request, decodeErr := delegation.DecodeRequest(data)
	if err != nil || decodeErr != nil || request.SubagentID != record.Subagent || request.RequestID != record.Request {
		return in, delegation.ReasonSuperseded
	}
	in.read, in.data, in.request = read, data, request
	return in, ""
}

// settleTries bounds how often a request that is in doubt is read again: its writer may be at work, or this process short
// of something for a moment.
const settleTries = 5

// readSettled reads a request, again where it does not tell yet what it is.
func (o *outbox) readSettled(name string) (data []byte, read delegation.Reading, err error) {
	for try := 1; ; try++ {
		data, read, err = o.dir.ReadRequest(name, o.settings.MaxRequestBytes)
		doubtful := err != nil && delegation.RefuseEntry(name, err) == nil && !errors.Is(err, fs.ErrNotExist)
		if err == nil {
			_, unread := delegation.DecodeRequest(data)
			doubtful = unread != nil && time.Since(read.Stamp.ModTime).Abs() < settle
		}
		if !doubtful || try == settleTries {
			return data, read, err
		}
		_ = retry.Pause(o.life, settle/2)
	}
}

// hasSegment says whether a run's live output was published up to a segment.
func (o *outbox) hasSegment(key sandbox.RunKey) func(seq int) bool {
	return func(seq int) bool {
		_, err := o.dir.Stat(delegation.EventsName(key.Subagent, key.Request, seq))
		return err == nil
	}
}
