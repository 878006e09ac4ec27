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

// Claim is a configured outbox name, the directory that the name leads to, and the findings about that directory.
type Claim struct {
	Name string          // the outbox's name for people
	Dir  *delegation.Dir // the held directory

	Remade bool            // another directory beside the earlier one may become the outbox's, see mayGoOn
	Here   inode.Directory // the directory's identity; set it before Identify, which sets the fields below

	ID   string // the outbox's id in the journal and in keys
	Lost bool   // requests there may have run under another journal; only for the goroutine that reads requests

	journal *journal.Journal
	log     *slog.Logger

	known     journal.Outbox  // the journal's entry of the outbox
	found     journal.Outbox  // the outbox that already has the directory; zero if none has
	maybe     []string        // ids of the outboxes that the directory may be, judging by its numbers
	elsewhere *ElsewhereError // why the directory is not served; nil if it is the outbox's own
	accepted  atomic.Bool     // an operator has decided which outbox the directory is
}

// NewClaim returns a claim that is not identified yet.
func NewClaim(name string, dir *delegation.Dir, j *journal.Journal, log *slog.Logger) *Claim {
	return &Claim{Name: name, Dir: dir, journal: j, log: log}
}

// Directory returns the lasting identity of the held directory.
func (c *Claim) Directory() (inode.Directory, error) {
	held, err := c.Dir.Reopen()
	if err != nil {
		return inode.Directory{}, fmt.Errorf("look at outbox %s once more: %w", c.Name, err)
	}
	defer held.Close()
	return inode.Of(held)
}

// Leads returns nil if the name leads to the outbox's own directory, and otherwise an error that tells where it leads.
func (c *Claim) Leads() error {
	if c.elsewhere == nil {
		return nil
	}
	return c.elsewhere
}

// InOwnDirectory reports whether the name leads to the outbox's own directory.
func (c *Claim) InOwnDirectory() bool { return c.elsewhere == nil }

// Serves reports whether the claim is the outbox with this id, in its own directory.
func (c *Claim) Serves(id string) bool { return c.ID == id && c.InOwnDirectory() }

// WouldServe reports whether the claim would serve the outbox with this id if its name did not lead to another
// directory.
func (c *Claim) WouldServe(id string) bool {
	return !c.InOwnDirectory() && (c.ID == id || c.found.ID == id || slices.Contains(c.maybe, id))
}

// IsOutdated reports whether the outboxes must be identified again: an operator has decided, or the path now leads to a
// different directory that can be opened.
func (c *Claim) IsOutdated() bool {
	if c.accepted.Load() {
		return true
	}
	// If the directory could not be opened at all, the host itself has everything opened anew.
	if c.Dir.Alive() == nil || c.Dir.Why() != nil {
		return false
	}
	there, err := delegation.OpenDir(c.Dir.Path())
	return err == nil && there.Close() == nil
}
