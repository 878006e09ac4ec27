package serve

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/lock"
	"torno/watcher"
)

// owedBudget bounds how long owed may read the journal of an earlier watcher.
const owedBudget = 5 * time.Second

// errNotTakenUp says why a host that was told to stop before it began does not know which responses are owed.
var errNotTakenUp = errors.New("it was told to stop before it took up the runs of an earlier watcher")

// owed returns a *watcher.OwedError if a watcher was told to stop before it began, and an earlier watcher left runs. It
// returns nil if the watcher is to keep running children, or if another watcher has the state directory.
func owed(c configs.Config) error {
	if c.Shutdown.Running == configs.Keep || configs.HeldState(c.State) != nil {
		return nil // no watcher has ever run in an unsafe state directory
	}
	held, err := lock.State(c.State, "a watcher that stops")
	if err != nil {
		return nil
	}
	defer held.Unlock() //nolint:errcheck // the lock ends with the process, which ends now
	ctx, cancel := context.WithTimeout(context.Background(), owedBudget)
	defer cancel()
	left, err := journal.OpenReadOnly(ctx, filepath.Join(c.State, JournalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &watcher.OwedError{Unknown: errors.Join(errNotTakenUp, err)}
	}
	defer left.Close()
	return countLeft(ctx, left)
}

// countLeft returns an error that counts the sandboxes of unfinished runs in a journal, or nil if no run is unfinished.
func countLeft(ctx context.Context, left *journal.Journal) error {
	found := &watcher.OwedError{Unknown: errNotTakenUp}
	for runs, after := 0, int64(0); ; {
		page, err := left.Unfinished(ctx, after, rows)
		if err != nil {
			found.Unknown = errors.Join(errNotTakenUp, err)
			return found
		}
		runs += len(page)
		if len(page) == 0 {
			if runs == 0 {
				return nil
			}
			return found
		}
		for _, r := range page {
			if r.Handle != nil && r.State != delegation.StateEnded {
				found.Sandboxes++
			}
			after = r.Seq
		}
	}
}
