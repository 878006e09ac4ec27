package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// mark is what a heartbeat says of the watcher that wrote it. A parent can write any: by a false one it makes its own requests
// refused.
type mark struct{ installation, ID string }

// maxMark bounds what is read of a heartbeat.
const maxMark = 64 << 10

// served says whether a watcher has served the directory, and what the last one said of itself. Any entry of the heartbeat's
// name says so, whatever it is: a power cut can leave an empty one. It is the only file of ours that is read, as hostile as a request.
func (c *Claim) served() (served bool, m mark) {
	if _, err := c.Dir.Stat(delegation.HeartbeatName); errors.Is(err, fs.ErrNotExist) {
		return false, mark{}
	}
	data, _, err := c.Dir.Read(delegation.HeartbeatName, maxMark)
	if err != nil {
		return true, mark{}
	}
	beat, err := delegation.DecodeHeartbeat(data)
	if err != nil {
		return true, mark{}
	}
	return true, mark{beat.Installation, beat.OutboxID}
}

// errFound ends a listing.
var errFound = errors.New("found")

// holdsRequests says whether requests lie in the directory.
func (c *Claim) holdsRequests(ctx context.Context) (bool, error) {
	isRequest := func(name string) bool {
		kind, _ := delegation.ParseName(name)
		return kind == delegation.KindRequest
	}
	err := c.Dir.Names(ctx, 64, func(names []string) error {
		if slices.ContainsFunc(names, isRequest) {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// servedAsAnother says whether the watcher that served the directory last had another journal, or served it as another outbox than o.
func (c *Claim) servedAsAnother(o journal.Outbox) bool {
	_, m := c.served()
	return m.installation != "" && (m.installation != c.journal.Installation() || m.ID != "" && m.ID != o.ID)
}

func (c *Claim) tellLost() {
	c.log.Warn("this outbox was served under another journal, or as another outbox; requests that lie there now are refused, since they may have run",
		"code", delegation.CodeJournalLost)
}

// TakeOver finds out whether the outbox was served under another journal while this watcher could not serve it: what lies there may have
// run. It comes before anything is written there, since watcher.json tells it.
func (c *Claim) TakeOver(ctx context.Context) error {
	if c.Lost || !c.servedAsAnother(c.known) {
		return nil
	}
	lost := c.known
	lost.Lost = true
	crash.At("outbox.kept")
	if err := c.journal.KeepOutboxes(ctx, []journal.Outbox{lost}); err != nil {
		return fmt.Errorf("note that another watcher served the outbox: %w", err)
	}
	c.known, c.Lost = lost, true
	c.tellLost()
	return nil
}

// LookedThrough notes that everything that lay in a lost outbox was looked at: what comes from now on has not run.
func (c *Claim) LookedThrough(ctx context.Context) error {
	crash.At("outbox.looked-through")
	if err := c.journal.LookedThrough(ctx, c.ID); err != nil {
		return err
	}
	c.Lost = false
	c.log.Info("what lay in the outbox was looked through; requests are served from now on")
	return nil
}
