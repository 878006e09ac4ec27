package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/internal/journal"
)

// OwedError lists what a watcher still owes when it stops although it was told to end every run. The next start
// continues with it.
type OwedError struct {
	Responses int   // requests without a response
	Sandboxes int   // sandboxes that may still run
	Unknown   error // why the number of owed responses is not known
}

func (e *OwedError) Error() string {
	text := fmt.Sprintf("the watcher stopped and owes %d responses", e.Responses)
	if e.Unknown != nil {
		text = fmt.Sprintf("the watcher stopped and does not know whether it owes responses (%v)", e.Unknown)
	}
	return fmt.Sprintf("%s; %d sandboxes are left, and may run on", text, e.Sandboxes)
}

func (e *OwedError) Unwrap() error { return e.Unknown }

// owedBudget bounds how long the journal and the outboxes may take to answer what is owed.
const owedBudget = 5 * time.Second

var errSilent = errors.New("the journal or an outbox does not answer")

// owed returns an *OwedError unless every request has its response and every sandbox is removed. It is called after all
// work has ended.
func (w *Watcher) owed() error {
	ctx, cancel := context.WithTimeout(context.Background(), owedBudget)
	defer cancel()
	counted := make(chan *OwedError, 1)
	go func() { counted <- w.countOwed(ctx) }()
	owed := &OwedError{Unknown: errSilent}
	select {
	case owed = <-counted:
	case <-ctx.Done():
	}
	owed.Sandboxes = w.runs.Removals.Left()
	if owed.Responses == 0 && owed.Sandboxes == 0 && owed.Unknown == nil {
		return nil
	}
	return owed
}

// countOwed counts the runs that have no response although their request is still there.
func (w *Watcher) countOwed(ctx context.Context) *OwedError {
	owed := &OwedError{}
	for after := int64(0); ; {
		unfinished, err := w.journal.Unfinished(ctx, after, settled)
		if err != nil || len(unfinished) == 0 {
			owed.Unknown = err
			return owed
		}
		for _, record := range unfinished {
			if w.isOwed(record) {
				owed.Responses++
			}
			after = record.Seq
		}
	}
}

// isOwed reports whether a client may still wait for the response to a run.
func (w *Watcher) isOwed(record journal.Run) bool {
	box := w.boxOf(record.Outbox)
	if box == nil {
		return true
	}
	there, err := box.StillThere(record.FileName, record.Reading())
	return there || err != nil
}
