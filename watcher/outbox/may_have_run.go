package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// tooOld refuses a request whose file time lies further from now than the journal remembers keys. If the journal knows
// the request, it has waited here, and its age does not matter. The time is the file's last modification. The client
// can set it, but it serves well: a file from a backup keeps its old time, and a client that sets a new time could as
// well choose a new id. The time of the last change, which no writer can set, would be useless: it is new whenever a
// file comes back.
func (d *admitter) tooOld(ctx context.Context, in Intake, key sandbox.RunKey) (*delegation.Refusal, error) {
	limit, age := d.MaxRequestAge, in.seen.Sub(in.read.Stamp.ModTime)
	if limit == 0 || age <= limit && age >= -journal.MaxSkew {
		return nil, nil
	}
	if _, err := d.Journal.Get(ctx, key.Hash()); !errors.Is(err, journal.ErrUnknown) {
		return nil, err
	}
	text := fmt.Sprintf("The request was written %s ago, and %s is the limit.", age.Round(time.Second), limit)
	if age < 0 {
		text = fmt.Sprintf("The time of the request's file, %s, lies in the future.", in.read.Stamp.ModTime.UTC().Format(time.RFC3339))
	}
	return &delegation.Refusal{Code: delegation.CodeStale, Text: text, Hint: askAnew}, nil
}

const askAnew = "Write the request again, with a new request_id."

// forgotten returns the answer to a request that ran, or may have run, so long ago that its record is gone.
func forgotten() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeStale, Hint: askAnew,
		Text: "The watcher may have answered this request long ago. It has no record of that any more, and it runs nothing twice.",
	}
}

// Requests in an outbox that a watcher with another journal served may have run, and our journal would not know.
// Therefore everything there is looked through once before anything runs.

// journalLost returns the refusal of a request that may have run.
func journalLost() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeJournalLost, Hint: askAnew,
		Text: "This request was here when the watcher got a new journal, so the watcher cannot know whether the request ran already.",
	}
}

// maxAnswer bounds how many bytes of a response are read.
const maxAnswer = 1 << 20

// isAnswered reports whether another watcher's response to a request lies beside it. A parent can forge such a
// response, but then it only gets its own.
func (d *admitter) isAnswered(in Intake, request delegation.Request) bool {
	name, ok := delegation.ResponseNameFor(in.rawID)
	if !ok {
		return false
	}
	data, _, err := d.Dir.Read(name, maxAnswer)
	if err != nil {
		return false
	}
	response, err := delegation.DecodeResponse(data)
	return err == nil && response.RequestID == request.RequestID.String()
}

// leaveAnswered records that a request is over, and leaves its response as it is.
func (d *admitter) leaveAnswered(ctx context.Context, in Intake, key sandbox.RunKey) time.Duration {
	record := d.refusalRecord(in, key, journalLost())
	record.Answered = true
	if _, err := d.recordRefusal(ctx, record); err != nil {
		return d.gate.trouble(err)
	}
	d.gate.works()
	d.log.Info("another watcher has already answered a request in the outbox; the response stays as it is", "subagent", key.Subagent)
	return 0
}
