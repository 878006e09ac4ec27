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
)

// takeIn decides on the copy that was read.
func (s *scan) takeIn(ctx context.Context, in Intake, readErr error) time.Duration {
	if refusal := delegation.RefuseEntry(in.name, readErr); refusal != nil {
		if in.unsettled(refusal) {
			return settle
		}
		return s.refuse(ctx, in, sandbox.RunKey{}, refusal)
	}
	switch {
	case errors.Is(readErr, fs.ErrNotExist), errors.Is(readErr, delegation.ErrChanged):
		return settle
	case readErr != nil:
		s.Stumble("read a request", readErr)
		return settle
	}
	request, err := delegation.DecodeRequest(in.data)
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		if in.unsettled(refusal) {
			return settle
		}
		return s.refuse(ctx, in, sandbox.RunKey{}, refusal)
	}
	if request.SubagentID.String() != in.rawID {
		return s.refuse(ctx, in, sandbox.RunKey{}, &delegation.Refusal{
			Code: delegation.CodeIDMismatch, Field: "subagent_id",
			Text: fmt.Sprintf("Invalid request: the file's name says %s and its subagent_id says %q", delegation.QuoteName(in.rawID), request.SubagentID),
			Hint: "Name the file request_<subagent_id>.json.",
		})
	}
	return s.admit(ctx, in, request)
}

// admit compiles a valid request, unless it is that of a run that is on its way or one that is too old.
func (s *scan) admit(ctx context.Context, in Intake, request delegation.Request) time.Duration {
	attempts, err := s.Journal.Attempts(ctx, s.ID, request.SubagentID, request.RequestID)
	if err != nil {
		return s.journalTrouble(err)
	}
	key := sandbox.RunKey{Outbox: s.ID, Subagent: request.SubagentID, Request: request.RequestID, Attempt: max(1, attempts)}
	if r, running := s.Carrier.Running(key.Hash()); running {
		return s.sameAgain(ctx, r, in)
	}
	if s.Lost && attempts == 0 && s.isAnswered(in, request) {
		return s.leaveAnswered(ctx, in, key)
	}
	if s.Lost && attempts == 0 {
		return s.refuse(ctx, in, key, journalLost())
	}
	if refusal, err := s.tooOld(ctx, in, key); err != nil {
		return s.journalTrouble(err)
	} else if refusal != nil {
		return s.refuse(ctx, in, key, refusal)
	}
	spec, warnings, err := compile.Compile(request, s.Settings.Policy)
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		return s.refuse(ctx, in, key, refusal)
	}
	for lost := 1; lost < key.Attempt; lost++ {
		warnings = append(warnings, delegation.LostAttempt(lost))
	}
	s.supersede(in.rawID, "")
	return s.begin(ctx, in, s.Admission(key, in, spec, warnings))
}

// begin records an admission and has it carried. An earlier watcher may have got so far too, or to the run's end.
func (s *scan) begin(ctx context.Context, in Intake, a *Admission) time.Duration {
	crash.At("admit.recorded")
	existing, err := s.Journal.Begin(ctx, a.Record(a.Key, a.Warnings))
	if errors.Is(err, journal.ErrForgotten) {
		return s.refuse(ctx, in, sandbox.RunKey{}, forgotten())
	}
	if existing != nil && existing.State == delegation.StateEnded {
		s.answerAgain(*existing, in.read)
		return 0
	}
	s.clearStale(a.Key.Subagent, a.Key.Request)
	if err != nil {
		return s.journalTrouble(err)
	}
	s.journalWorks()
	if s.Carrier.Carry(s.Life, a, existing) {
		s.log.Info("request admitted", "subagent", a.Key.Subagent, "run", a.Key.Hash(), "profile", a.Spec.Profile)
	}
	return 0
}

// sameAgain gives a run the file in which its client has written the same request again. The run goes first: if it ends
// meanwhile, the journal does not take the file, and the next look answers it.
func (s *scan) sameAgain(ctx context.Context, r Underway, in Intake) time.Duration {
	s.supersede(in.rawID, r.Run)
	r.read.Store(&in.read)
	crash.At("again.filed")
	switch err := s.Journal.Refile(ctx, r.Run, in.read, false); {
	case errors.Is(err, journal.ErrMoved):
		return settle
	case err != nil:
		return s.journalTrouble(err)
	}
	return 0
}

// supersede ends the run of a subagent whose file holds another request by now, or none that is valid.
func (s *scan) supersede(rawID, by string) {
	if r, running := s.newest(rawID); running && r.Run != by {
		s.Carrier.Stop(s.Life, r, delegation.ReasonSuperseded)
	}
}

// clearStale removes what earlier requests of the id left behind before the run of this one can be mistaken for theirs. Live
// output of the same request stays: an earlier watcher published it, and the run goes on after it.
func (s *scan) clearStale(id delegation.SubagentID, request delegation.RequestID) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.discard(delegation.ResponseName(id))
	s.trails.drop(id, request)
}
