package identity

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"torno/delegation"
	"torno/internal/journal"
)

// mark is what a heartbeat says of the watcher that wrote it. A parent can write any: by a false one it makes its own requests
// refused, or its own outbox wait for the operator.
type mark struct{ installation, ID, name string }

// tells says whether the mark is that of an outbox. Watchers of before wrote the name alone.
func (m mark) tells(o journal.Outbox, installation string) bool {
	if m.installation == "" && m.ID == "" {
		return o.Directory.IsZero() && m.name == o.Name && m.name != ""
	}
	return m.installation == installation && m.ID == o.ID
}

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
	return true, mark{beat.Installation, beat.OutboxID, beat.Outbox}
}

// holdsOne says whether the request of one of these runs lies in the directory.
func (c *Claim) holdsOne(runs []journal.Run) bool {
	return slices.ContainsFunc(runs, func(r journal.Run) bool {
		there, err := c.Dir.StillHolds(r.FileName, r.Reading(), c.maxRequest)
		return there && err == nil
	})
}

// holdsAll says whether the requests of all of these runs lie in the directory.
func (c *Claim) holdsAll(runs []journal.Run) bool {
	return !slices.ContainsFunc(runs, func(r journal.Run) bool {
		there, err := c.Dir.StillHolds(r.FileName, r.Reading(), c.maxRequest)
		return !there || err != nil
	})
}

// errFound ends a listing.
var errFound = errors.New("found")

// holdsAny says whether any file of these kinds lies in the directory.
func (c *Claim) holdsAny(ctx context.Context, kinds ...delegation.Kind) (bool, error) {
	return c.find(ctx, func(name string) (bool, error) {
		kind, _ := delegation.ParseName(name)
		return slices.Contains(kinds, kind), nil
	})
}

// maxEvidence bounds how many requests are compared with the journal to find out whose they are.
const maxEvidence = 1024

// holdsRunOf says whether a request lies in the directory that the journal has as one of an outbox. Name, inode, size and times are the
// same: a parent can copy a request, and not that.
func (c *Claim) holdsRunOf(ctx context.Context, id string) (bool, error) {
	looked := 0
	return c.find(ctx, func(name string) (bool, error) {
		if kind, _ := delegation.ParseName(name); kind != delegation.KindRequest || looked == maxEvidence {
			return false, nil
		}
		looked++
		stamp, err := c.Dir.Stat(name)
		if err != nil {
			return false, nil //nolint:nilerr // it has gone, and says nothing
		}
		_, known, err := c.journal.ByFile(ctx, id, name, stamp)
		return known, err
	})
}

// chunk is how many names are read at once.
const chunk = 64

// find says whether one of the names in the directory is what is looked for.
func (c *Claim) find(ctx context.Context, is func(name string) (bool, error)) (bool, error) {
	err := c.Dir.Names(ctx, chunk, func(names []string) error {
		for _, name := range names {
			found, err := is(name)
			if err == nil && found {
				err = errFound
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
