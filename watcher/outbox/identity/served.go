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

// mark identifies the watcher that wrote a heartbeat. A parent can forge it, but then only its own requests are
// refused.
type mark struct{ installation, ID string }

// maxMark bounds how many bytes of a heartbeat are read.
const maxMark = 64 << 10

// served reports whether a watcher has served the directory, and returns the last watcher's mark. Any entry with the
// heartbeat's name counts, whatever it is, because a power cut can leave an empty file. The heartbeat is the only file
// of ours that we read, with the same distrust as a request.
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

// errFound ends a listing early.
var errFound = errors.New("found")

// holdsRequests reports whether requests lie in the directory.
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

// servedAsAnother reports whether the last watcher of the directory had another journal, or served it as an outbox
// other than o.
func (c *Claim) servedAsAnother(o journal.Outbox) bool {
	_, m := c.served()
	return m.installation != "" && (m.installation != c.journal.Installation() || m.ID != "" && m.ID != o.ID)
}

func (c *Claim) tellLost() {
	c.log.Warn("this outbox was served under another journal, or as another outbox; the watcher refuses the requests that lie there now, because they may have run",
		"code", delegation.CodeJournalLost)
}

// TakeOver finds out whether another journal's watcher served the outbox while this watcher could not: then the
// requests there may have run. It is called before anything is written to the outbox, because the evidence is
// watcher.json.
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

// LookedThrough notes that everything in a lost outbox was looked at. Requests that come from now on have not run.
func (c *Claim) LookedThrough(ctx context.Context) error {
	crash.At("outbox.looked-through")
	if err := c.journal.LookedThrough(ctx, c.ID); err != nil {
		return err
	}
	c.Lost = false
	c.log.Info("everything in the outbox was looked through; the watcher serves requests from now on")
	return nil
}
