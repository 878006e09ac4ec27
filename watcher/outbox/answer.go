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

// refuse records and answers a request that is turned down. Its id may be none: then the file's name stands for it.
func (s *scan) refuse(ctx context.Context, in Intake, key sandbox.RunKey, refusal *delegation.Refusal) time.Duration {
	response, _ := delegation.ResponseNameFor(in.rawID)
	s.supersede(in.rawID, "")
	record, err := s.recordRefusal(ctx, s.refusalRecord(in, key, refusal))
	if errors.Is(err, journal.ErrForgotten) && key.Attempt > 0 {
		return s.refuse(ctx, in, sandbox.RunKey{}, refusal) // the file stands for it
	}
	if err != nil {
		return s.journalTrouble(err)
	}
	s.journalWorks()
	s.log.Info("request refused", "file", delegation.QuoteName(in.name), "code", refusal.Code, "field", refusal.Field)
	s.answer(record, response, in.read)
	return 0
}

// recordRefusal returns what the journal has of the run afterwards: an earlier end stays, and what an earlier watcher
// admitted and today's policy does not ends now.
func (s *scan) recordRefusal(ctx context.Context, record journal.Run) (journal.Run, error) {
	crash.At("refuse.recorded")
	existing, err := s.Journal.Begin(ctx, record)
	switch {
	case err != nil || existing == nil:
		return record, err
	case existing.State == delegation.StateEnded:
		return *existing, nil
	}
	crash.At("refuse.ended")
	err = s.Journal.Move(ctx, record.Key, existing.State, delegation.StateEnded, journal.Change{
		Reason: record.Reason, Code: record.Code, Field: record.Field, Hint: record.Hint, Text: record.Text, Ended: record.Ended,
	})
	if err != nil {
		return record, err
	}
	return s.Journal.Get(ctx, record.Key)
}

// refusalRecord is a run that ends as it begins. Without a key of its own it stands for the file.
func (s *scan) refusalRecord(in Intake, key sandbox.RunKey, refusal *delegation.Refusal) journal.Run {
	record := journal.Run{
		Key: key.Hash(), Outbox: s.ID, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt,
		FileName: in.name, Stamp: in.read.Stamp, Content: in.read.Content, Firm: in.read.Firm, State: delegation.StateEnded, Reason: delegation.ReasonRefused,
		Code: refusal.Code, Field: refusal.Field, Hint: refusal.Hint, Text: refusal.Text,
		Created: in.seen, Ended: time.Now(),
	}
	if key.Attempt == 0 {
		_, record.RequestText = delegation.PeekIDs(in.data)
		record.SubagentText = in.rawID
		record.Key = journal.EntryKey(s.ID, in.name, in.read.Stamp, in.read.Content)
	}
	return record
}

// answerAgain publishes what the journal holds for a run that has ended, if its response is missing.
func (s *scan) answerAgain(record journal.Run, read delegation.Reading) {
	if response, ok := delegation.ResponseNameFor(RecordID(record)); ok {
		s.answer(record, response, read)
	}
}

// unreadable says whether a response that was published is missing or empty. A response is not flushed to the disk, so a
// power cut can take it although the journal knows that it was there: the first listing looks once.
func (s *scan) unreadable(record journal.Run) bool {
	response, ok := delegation.ResponseNameFor(RecordID(record))
	if !ok {
		return false
	}
	stamp, err := s.Dir.Stat(response)
	return errors.Is(err, fs.ErrNotExist) || err == nil && stamp.Size == 0
}

// owe has the answer to a request tried again soon. There may be more of them than are kept; the next listing finds those.
func (o *Outbox) owe(request string) {
	select {
	case o.owed <- request:
	default:
	}
}

// putOff notes when an answer that could not be written is tried again. Such answers do not wait behind requests that are to
// be looked at again: a flood of those leaves no room.
func (s *scan) putOff(request string) {
	if len(s.due) < maxDue {
		s.due[request] = time.Now().Add(dueAgain)
	}
}

// answerDue tries again to write answers.
func (s *scan) answerDue(ctx context.Context, now time.Time) {
	for request, at := range s.due {
		if at.After(now) {
			continue
		}
		delete(s.due, request)
		_, raw := delegation.ParseName(request)
		if s.isRunning(raw) {
			s.putOff(request) // it is not quite over
			continue
		}
		s.lookAt(ctx, request, raw, true)
	}
}

// answer publishes a recorded end and notes that it is published, or not owed any more.
func (s *scan) answer(record journal.Run, response string, read delegation.Reading) {
	if err := s.Respond(record.FileName, response, read, ResponseOf(record)); err != nil {
		s.Stumble("write a response", err)
		s.owe(record.FileName)
		return
	}
	var err error
	life := journal.Charge(s.Life, &s.written) // a shutdown in between is no reason to owe it still
	if before := record.Reading(); read.Content != "" && (!before.Same(read) || !before.Firm && read.Firm) {
		crash.At("answer.filed")
		err = s.Journal.Refile(life, record.Key, read, true)
	}
	if err == nil {
		crash.At("answer.noted")
		err = s.Journal.NoteAnswered(life, record.Key)
	}
	if err != nil {
		s.journalTrouble(err)
	}
}
