package identity

import (
	"log/slog"
	"sync/atomic"

	"torno/delegation"
	"torno/internal/inode"
	"torno/internal/journal"
)

// Claim is the name of an outbox, the directory that it leads to, and what is found out about that one.
type Claim struct {
	Name string          // what people call the outbox
	Dir  *delegation.Dir // the directory that is held
	Here inode.Directory // its identity; to be set before Identify, which sets what follows

	ID   string // what the outbox is, in the journal and in keys
	Lost bool   // requests that lie there may have run under another journal; for the goroutine that reads requests alone

	journal    *journal.Journal
	log        *slog.Logger
	maxRequest int64 // bytes

	known     journal.Outbox    // what the journal has of it
	found     journal.Outbox    // the outbox that has the directory already; zero where none has
	maybe     []string          // by id: the outboxes that the directory may be, as far as its numbers tell
	earlier   []inode.Directory // those that the outbox had before
	elsewhere *ElsewhereError   // the name leads to a directory that is not the outbox's own; nil where it is
	accepted  atomic.Bool       // an operator has said what that directory is
}

// NewClaim is a claim that is not identified yet. A request is read up to a number of bytes.
func NewClaim(name string, dir *delegation.Dir, j *journal.Journal, maxRequest int64, log *slog.Logger) *Claim {
	return &Claim{Name: name, Dir: dir, journal: j, maxRequest: maxRequest, log: log}
}
