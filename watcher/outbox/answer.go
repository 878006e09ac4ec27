package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
)

// refuse records and answers a refused request. If the request has no valid id, the file's name stands for it.
func (d *admitter) refuse(ctx context.Context, in Intake, key sandbox.RunKey, refusal *delegation.Refusal) time.Duration {
	response, _ := delegation.ResponseNameFor(in.rawID)
	d.supersede(in.rawID, "")
	record, err := d.recordRefusal(ctx, d.refusalRecord(in, key, refusal))
	if errors.Is(err, journal.ErrForgotten) && key.Attempt > 0 {
		return d.refuse(ctx, in, sandbox.RunKey{}, refusal) // a record of the file replaces the record of the run
	}
	if err != nil {
		return d.gate.trouble(err)
	}
	d.gate.works()
	d.log.Info("request refused", "file", delegation.QuoteName(in.name), "code", refusal.Code, "field", refusal.Field)
	d.answer(record, response, in.read)
	return 0
}

// recordRefusal records a refusal and returns the journal's record of the run. If the run had ended before, that end
// stays. If an earlier watcher admitted the run but today's policy refuses it, it ends now.
func (d *admitter) recordRefusal(ctx context.Context, record journal.Run) (journal.Run, error) {
	crash.At("refuse.recorded")
	existing, err := d.Journal.Begin(ctx, record)
	switch {
	case err != nil || existing == nil:
		return record, err
	case existing.State == delegation.StateEnded:
		return *existing, nil
	}
	crash.At("refuse.ended")
	err = d.Journal.Move(ctx, record.Key, existing.State, delegation.StateEnded, journal.Change{
		Reason: record.Reason, Code: record.Code, Field: record.Field, Hint: record.Hint, Text: record.Text, Ended: record.Ended,
	})
	if err != nil {
		return record, err
	}
	return d.Journal.Get(ctx, record.Key)
}

// refusalRecord returns the record of a run that ends as it begins. Without a valid key of its own, the record gets a
// key made from the file.
func (d *admitter) refusalRecord(in Intake, key sandbox.RunKey, refusal *delegation.Refusal) journal.Run {
	record := journal.Run{
		Key: key.Hash(), Outbox: d.ID, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt,
		FileName: in.name, Stamp: in.read.Stamp, Content: in.read.Content, Firm: in.read.Firm, State: delegation.StateEnded, Reason: delegation.ReasonRefused,
		Code: refusal.Code, Field: refusal.Field, Hint: refusal.Hint, Text: refusal.Text,
		Created: in.seen, Ended: time.Now(),
	}
	if key.Attempt == 0 {
		_, record.RequestText = delegation.PeekIDs(in.data)
		record.SubagentText = in.rawID
		record.Key = journal.EntryKey(d.ID, in.name, in.read.Stamp, in.read.Content)
	}
	return record
}

// answerAgain publishes the recorded response of an ended run, if the response is missing.
func (d *admitter) answerAgain(record journal.Run, read delegation.Reading) {
	if response, ok := delegation.ResponseNameFor(RecordID(record)); ok {
		d.answer(record, response, read)
	}
}

// unreadable reports whether a published response is missing or empty although its request is there. A power cut can
// destroy a response, because responses are not flushed to the disk; or a client may have removed it without having
// read it.
func (d *admitter) unreadable(record journal.Run) bool {
	response, ok := delegation.ResponseNameFor(RecordID(record))
	if !ok {
		return false
	}
	stamp, err := d.Dir.Stat(response)
	return errors.Is(err, fs.ErrNotExist) || err == nil && stamp.Size == 0
}

// owe has the answer to a request tried again soon. If there are more such answers than fit, the next listing finds the
// rest.
func (o *Outbox) owe(request string) {
	select {
	case o.owed <- request:
	default:
	}
}

// answer publishes a recorded end. Then it notes in the journal that the answer is published, or no longer owed.
func (d *admitter) answer(record journal.Run, response string, read delegation.Reading) {
	if err := d.Respond(record.FileName, response, read, ResponseOf(record)); err != nil {
		d.Stumble("write a response", err)
		d.owe(record.FileName)
		return
	}
	var err error
	life := d.costs.charge(d.Life) // a shutdown right now must not leave the answer owed
	if before := record.Reading(); read.Content != "" && (!before.Same(read) || !before.Firm && read.Firm) {
		crash.At("answer.filed")
		err = d.Journal.Refile(life, record.Key, read, true)
	}
	if err == nil {
		crash.At("answer.noted")
		err = d.Journal.NoteAnswered(life, record.Key)
	}
	if err != nil {
		d.gate.trouble(err)
	}
}

// ResponseOf returns a recorded end as a response for the client.
func ResponseOf(record journal.Run) delegation.Response {
	exit := -1
	if record.ExitCode != nil {
		exit = *record.ExitCode
	}
	resp := delegation.Response{
		Version: delegation.Version, SubagentID: RecordID(record), RequestID: record.Request.String(),
		Status: record.Reason.Wire(exit), ExitCode: exit, StdoutTail: record.StdoutTail, StderrTail: record.StderrTail,
		CompletedAt: record.Ended.UTC(), Reason: record.Reason, Error: record.Refusal(), Attempt: record.Attempt,
		StartedAt: record.Started.UTC(), Timings: record.Timings, Usage: record.Usage, Warnings: record.Warnings,
		Launcher: record.Launcher, Profile: record.Profile, SessionID: record.Session, Artifacts: record.Artifacts,
	}
	if resp.RequestID == "" {
		resp.RequestID = record.RequestText
	}
	if !record.Released.IsZero() {
		attested := record.Attestation != nil && record.Attestation.Attested
		resp.Attested = &attested
	}
	if record.Started.IsZero() {
		resp.StartedAt = time.Time{}
	}
	if text := hostText(record); text != "" {
		resp.StderrTail = text
	}
	return resp
}

// hostText returns the host's own message about the end, or "". It travels as stderr_tail in place of the child's, as
// in upstream's protocol.
func hostText(record journal.Run) string {
	switch {
	case record.Code != "":
		return record.Text
	case record.Reason == delegation.ReasonShutdown && record.StderrTail == "":
		return "The watcher was shut down before this run was done."
	}
	return ""
}

// RecordID returns the id that stands in the names of a record's files.
func RecordID(record journal.Run) string {
	if record.Subagent.IsZero() {
		return record.SubagentText
	}
	return record.Subagent.String()
}
