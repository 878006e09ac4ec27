package outbox

import (
	"context"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
)

// What lies in an outbox that a watcher with another journal served may have run, and no record of ours says so. It is looked
// through once before anything there runs.

// servedByAnother says whether a watcher of another installation was the last one to serve the directory.
func (o *Outbox) servedByAnother() bool {
	_, m := o.served()
	return m.installation != "" && m.installation != o.Journal.Installation()
}

// servedAsAnother says whether a watcher of this installation was the last one to serve the directory, as another outbox than the known one.
func (o *Outbox) servedAsAnother() bool {
	_, m := o.served()
	return m.installation == o.Journal.Installation() && m.ID != "" && m.ID != o.known.ID
}

func (o *Outbox) tellLost() {
	o.log.Warn("a watcher with another journal served this outbox; requests that lie there now are refused, since they may have run",
		"code", delegation.CodeJournalLost)
}

// takeOver finds out whether a watcher of another installation served the outbox while this one could not: what lies there may have
// run. It comes before anything is written there, since watcher.json tells it.
func (o *Outbox) takeOver() error {
	if o.Lost || !o.servedByAnother() {
		return nil
	}
	lost := o.known
	lost.Lost = true
	crash.At("outbox.kept")
	if err := o.Journal.KeepOutboxes(o.Life, []journal.Outbox{lost}); err != nil {
		return fmt.Errorf("note that another watcher served the outbox: %w", err)
	}
	o.known, o.Lost = lost, true
	o.tellLost()
	return nil
}

// lookedThrough notes that everything that lay in a lost outbox was looked at: what comes from now on has not run.
func (o *Outbox) lookedThrough(ctx context.Context) error {
	crash.At("outbox.looked-through")
	if err := o.Journal.LookedThrough(ctx, o.ID); err != nil {
		return err
	}
	o.Lost = false
	o.log.Info("what lay in the outbox was looked through; requests are served from now on")
	return nil
}

// journalLost refuses a request that may have run.
func journalLost() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeJournalLost, Hint: "Write it again under a new request_id.",
		Text: "This request lay here when the watcher's journal was made anew; whether it ran already cannot be told.",
	}
}

// maxAnswer bounds what is read of a response.
const maxAnswer = 1 << 20

// isAnswered says whether another watcher's response to a request lies beside it. A parent can write one, and then has that.
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

// leaveAnswered notes that a request is over, and leaves the response that lies there.
func (d *admitter) leaveAnswered(ctx context.Context, in Intake, key sandbox.RunKey) time.Duration {
	record := d.refusalRecord(in, key, journalLost())
	record.Answered = true
	if _, err := d.recordRefusal(ctx, record); err != nil {
		return d.gate.trouble(err)
	}
	d.gate.works()
	d.log.Info("another watcher has answered a request that lies there; its response stays", "subagent", key.Subagent)
	return 0
}
