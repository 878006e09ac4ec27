package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/watcher/run"
)

// takeIn decides on a request from the copy that was read.
func (d *admitter) takeIn(ctx context.Context, in Intake, readErr error) time.Duration {
	if refusal := delegation.RefuseEntry(in.name, readErr); refusal != nil {
		if in.unsettled(refusal) {
			return settle
		}
		return d.refuse(ctx, in, sandbox.RunKey{}, refusal)
	}
	switch {
	case errors.Is(readErr, fs.ErrNotExist), errors.Is(readErr, delegation.ErrChanged):
		return settle
	case readErr != nil:
		d.Stumble("read a request", readErr)
		return settle
	}
	request, err := delegation.DecodeRequest(in.data)
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		if in.unsettled(refusal) {
			return settle
		}
		return d.refuse(ctx, in, sandbox.RunKey{}, refusal)
	}
	if request.SubagentID.String() != in.rawID {
		return d.refuse(ctx, in, sandbox.RunKey{}, &delegation.Refusal{
			Code: delegation.CodeIDMismatch, Field: "subagent_id",
			Text: fmt.Sprintf("Invalid request: the file's name says %s and its subagent_id says %q", delegation.QuoteName(in.rawID), request.SubagentID),
			Hint: "Name the file request_<subagent_id>.json.",
		})
	}
	return d.admit(ctx, in, request)
}

// admit compiles a valid request, unless its run is already on its way or the request is too old.
func (d *admitter) admit(ctx context.Context, in Intake, request delegation.Request) time.Duration {
	attempts, err := d.Journal.Attempts(ctx, d.ID, request.SubagentID, request.RequestID)
	if err != nil {
		return d.gate.trouble(err)
	}
	key := sandbox.RunKey{Outbox: d.ID, Subagent: request.SubagentID, Request: request.RequestID, Attempt: max(1, attempts)}
	if r := d.Runs.Running(key.Hash()); r != nil {
		return d.sameAgain(ctx, r, in)
	}
	if d.Lost && attempts == 0 && d.isAnswered(in, request) {
		return d.leaveAnswered(ctx, in, key)
	}
	if d.Lost && attempts == 0 {
		return d.refuse(ctx, in, key, journalLost())
	}
	if refusal, err := d.tooOld(ctx, in, key); err != nil {
		return d.gate.trouble(err)
	} else if refusal != nil {
		return d.refuse(ctx, in, key, refusal)
	}
	spec, warnings, err := compile.Compile(request, d.Settings.Policy)
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		return d.refuse(ctx, in, key, refusal)
	}
	in.made = request.WorkspaceMade
	in.descent, err = d.descend(ctx, request, key, attempts)
	switch {
	case errors.As(err, &refusal):
		return d.refuse(ctx, in, key, refusal)
	case errors.Is(err, errParentUnread):
		return settle
	case err != nil:
		return d.gate.trouble(err)
	}
	if refusal := d.refuseSession(in.rawID, request.SubagentID, spec.Process); refusal != nil {
		return d.refuse(ctx, in, key, refusal)
	}
	for lost := 1; lost < key.Attempt; lost++ {
		warnings = append(warnings, delegation.LostAttempt(lost))
	}
	d.supersede(in.rawID, "")
	return d.begin(ctx, in, d.Admission(key, in, spec, warnings))
}

// refuseSession explains why a request cannot continue the session that it names; nil means it can. While a run of the
// same subagent has not ended, it may still leave that session behind: then the session is checked again after that
// run.
func (d *admitter) refuseSession(rawID string, id delegation.SubagentID, p sandbox.Process) *delegation.Refusal {
	if p.Session == "" {
		return nil
	}
	if d.Session == nil {
		return &delegation.Refusal{Code: delegation.CodeSession, Field: "session_id", Text: "This watcher keeps no sessions.", Hint: "ask without session_id"}
	}
	if d.isRunning(rawID) {
		return nil
	}
	return d.Session(d.ID, id, p)
}

// begin records an admission and submits it as a run. An earlier watcher may have come as far as this, or even to the
// run's end.
func (d *admitter) begin(ctx context.Context, in Intake, a *Admission) time.Duration {
	crash.At("admit.recorded")
	existing, err := d.Journal.Begin(ctx, a.Record(a.Key, a.Warnings))
	if errors.Is(err, journal.ErrForgotten) {
		return d.refuse(ctx, in, sandbox.RunKey{}, forgotten())
	}
	if existing != nil && existing.State == delegation.StateEnded {
		d.answerAgain(*existing, in.read)
		return 0
	}
	d.clearStale(a.Key.Subagent, a.Key.Request)
	if err != nil {
		return d.gate.trouble(err)
	}
	d.gate.works()
	if d.Runs.Submit(d.Life, a.Request, a, existing) {
		d.log.Info("request admitted", "subagent", a.Key.Subagent, "run", a.Key.Hash(), "profile", a.Spec.Profile)
	}
	return 0
}

// sameAgain handles a request that its client has written once more into another file. It gives the new file to the run
// first: if the run ends meanwhile, the journal rejects the file, and the next look answers it.
func (d *admitter) sameAgain(ctx context.Context, r *run.Run, in Intake) time.Duration {
	d.supersede(in.rawID, r.Key())
	admissionOf(r).read.Store(&in.read)
	crash.At("again.filed")
	switch err := d.Journal.Refile(ctx, r.Key(), in.read, false); {
	case errors.Is(err, journal.ErrMoved):
		return settle
	case err != nil:
		return d.gate.trouble(err)
	}
	return 0
}

// supersede ends the subagent's run if its file now holds another request or an invalid one.
func (d *admitter) supersede(rawID, by string) {
	if r := d.newest(rawID); r != nil && r.Key() != by {
		r.Stop(d.Life, delegation.ReasonSuperseded)
	}
}
