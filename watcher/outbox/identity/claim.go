package identity

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"torno/delegation"
	"torno/internal/inode"
	"torno/internal/journal"
)

// Claim is the name of an outbox, the directory that it leads to, and what is found out about that one.
type Claim struct {
	Name string          // what people call the outbox
	Dir  *delegation.Dir // the directory that is held

	Remade bool            // another directory beside the earlier one may be the outbox's, see Identify
	Here   inode.Directory // the directory's identity; to be set before Identify, which sets what follows

	ID   string // what the outbox is, in the journal and in keys
	Lost bool   // requests that lie there may have run under another journal; for the goroutine that reads requests alone

	journal *journal.Journal
	log     *slog.Logger

	known     journal.Outbox  // what the journal has of it
	found     journal.Outbox  // the outbox that has the directory already; zero where none has
	maybe     []string        // by id: the outboxes that the directory may be, as far as its numbers tell
	elsewhere *ElsewhereError // why the directory is not served; nil where it is the outbox's own
	accepted  atomic.Bool     // an operator has said what that directory is
}

// NewClaim is a claim that is not identified yet.
func NewClaim(name string, dir *delegation.Dir, j *journal.Journal, log *slog.Logger) *Claim {
	return &Claim{Name: name, Dir: dir, journal: j, log: log}
}

// Directory is the lasting identity of the directory that is held.
func (c *Claim) Directory() (inode.Directory, error) {
	held, err := c.Dir.Reopen()
	if err != nil {
		return inode.Directory{}, fmt.Errorf("look at outbox %s once more: %w", c.Name, err)
	}
	defer held.Close()
	return inode.Of(held)
}

// Leads says where else the name leads, nil where it leads to the outbox's own directory.
func (c *Claim) Leads() error {
	if c.elsewhere == nil {
		return nil
	}
	return c.elsewhere
}

// InOwnDirectory says whether the name leads to the outbox's own directory.
func (c *Claim) InOwnDirectory() bool { return c.elsewhere == nil }

// Serves says whether the claim is a known outbox in its own directory.
func (c *Claim) Serves(id string) bool { return c.ID == id && c.InOwnDirectory() }

// WouldServe says whether the claim would serve an outbox if its name did not lead elsewhere.
func (c *Claim) WouldServe(id string) bool {
	return !c.InOwnDirectory() && (c.ID == id || c.found.ID == id || slices.Contains(c.maybe, id))
}

// IsOutdated says whether the outboxes are to be identified anew: an operator has decided, or another directory can be opened at the
// path than the one that was found there.
func (c *Claim) IsOutdated() bool {
	if c.accepted.Load() {
		return true
	}
	if c.Dir.Alive() == nil || c.Dir.Why() != nil { // of one that could not be opened, the host itself asks for all to be opened anew
		return false
	}
	there, err := delegation.OpenDir(c.Dir.Path())
	return err == nil && there.Close() == nil
}
