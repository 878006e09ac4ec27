package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// adopt takes a sandbox over. The request is read once more, as hostile as ever; where today's policy does not allow it
// any more, the run ends.
func (w *Watcher) adopt(ctx context.Context, box *outbox, record journal.Run, h sandbox.Handle) error {
	if record.Handle == nil { // the crash came between the sandbox and its note; nothing of it was started
		if err := w.journal.SetHandle(ctx, record.Key, h); err != nil {
			return err
		}
	}
	r, err := box.readAgain(record)
	if err != nil {
		w.log.Warn("a run that an earlier watcher started is not allowed any more", "run", record.Key, "error", err)
		w.removeLater(h)
		return w.end(ctx, box, record, withdrawn(err))
	}
	r.handle, r.state, r.admitted = h, record.State, record.Created
	r.times.created, r.times.started = record.Created, record.Started
	r.warnings = record.Warnings
	r.out.resume(w.notes.load(r.hash), !record.Started.IsZero(), box.hasSegment(r.key))
	w.log.Info("adopted a run of an earlier watcher", "outbox", box.name, "subagent", r.key.Subagent, "run", r.hash, "sandbox", h.State)
	w.own(r)
	w.scheduler.adopt(w.life, r)
	return nil
}

// readAgain makes a run of a record's request, as it is now.
func (o *outbox) readAgain(record journal.Run) (*run, error) {
	data, stamp, err := o.dir.Read(record.FileName, o.settings.MaxRequestBytes)
	if err != nil {
		return nil, err
	}
	request, err := delegation.DecodeRequest(data)
	if err != nil {
		return nil, err
	}
	spec, warnings, err := sandbox.Compile(request, o.settings.Policy)
	if err != nil {
		return nil, err
	}
	if request.SubagentID != record.Subagent || request.RequestID != record.Request {
		return nil, fmt.Errorf("%s holds another request than it did", record.FileName)
	}
	in := intake{name: record.FileName, stamp: stamp, seen: record.Created, data: data}
	return o.w.newRun(o, record.RunKey(), in, spec, warnings), nil
}

// withdrawn is the end of a run that may not go on.
func withdrawn(err error) journal.Change {
	change := journal.Change{
		Reason: delegation.ReasonRefused, Code: delegation.CodeInternal, Ended: time.Now(),
		Text: "The run was ended when the watcher was started again: " + err.Error(), Hint: "Ask the operator what has changed.",
	}
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		change.Code, change.Field, change.Hint = refusal.Code, refusal.Field, refusal.Hint
	}
	return change
}

// hasSegment says whether a run's live output was published up to a segment.
func (o *outbox) hasSegment(key sandbox.RunKey) func(seq int) bool {
	return func(seq int) bool {
		_, err := o.dir.Stat(delegation.EventsName(key.Subagent, key.Request, seq))
		return err == nil
	}
}
