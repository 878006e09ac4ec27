package identity

import (
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/journal"
)

// ElsewhereError says that an outbox's name leads to another directory than its own.
type ElsewhereError struct {
	Name, Path string
	Whose      string // the outbox that has the other directory, "" where none has
	Unfinished bool   // runs of the outbox have no end or no answer yet
	Requests   bool   // requests lie in the other directory
	Left       bool   // the other directory left the path while the watcher looked at it
	Twin       string // the outbox from whose directory nothing tells this one, "" for none
	Closed     error  // why the directory, or a root of the outbox, could not be opened
}

func (e *ElsewhereError) Unwrap() error { return e.Closed }

func (e *ElsewhereError) Error() string {
	if e.Closed != nil {
		return fmt.Sprintf("outbox %s is not served until it can be: %v; the watcher goes on looking", e.Name, e.Closed)
	}
	whose, stake := "another directory than before", "requests lie in that directory"
	if e.Whose != "" {
		whose = "the directory of the outbox that was called " + e.Whose
	}
	if e.Left {
		return fmt.Sprintf("outbox %s led to another directory than before, and that directory left %s while the watcher looked at it; "+
			"the watcher looks again as soon as a directory is there", e.Name, e.Path)
	}
	if e.Twin != "" {
		return e.twin()
	}
	switch {
	case e.Unfinished && e.Requests:
		stake = "runs of the outbox are unfinished, and " + stake
	case e.Unfinished:
		stake = "runs of the outbox are unfinished"
	}
	return fmt.Sprintf("outbox %s leads to %s, and that is %s; %s. Mount or move the right one there, or say "+
		"which it is: `watcher outbox accept %s --same` where this directory is the outbox from now on, --new where it is another outbox",
		e.Name, e.Path, whose, stake, e.Name)
}

// twin is the text for a directory that looks like another outbox's.
func (e *ElsewhereError) twin() string {
	text := fmt.Sprintf("outbox %s leads to %s, and the numbers of its file system do not tell that directory from the one of outbox %s: one is a copy "+
		"of the other's disk, or the file system has no number, or it is one directory by two names; where it is one, take a name out of the "+
		"configuration, and else say which it is: ", e.Name, e.Path, e.Twin)
	if e.Whose != "" {
		text += fmt.Sprintf("`watcher outbox accept %s --same` where it is the outbox that was called %s, or ", e.Name, e.Whose)
	}
	return text + fmt.Sprintf("`watcher outbox accept %s --new` where it is an outbox of its own", e.Name)
}

// leadsElsewhere keeps a claim from being served: the claim should be a certain outbox, and its directory is not that outbox's. With the zero
// outbox it is not known which one it should be.
func (r *register) leadsElsewhere(claim *Claim, o journal.Outbox, why *ElsewhereError) {
	why.Name, why.Path = claim.Name, claim.Dir.Path()
	if o.ID != "" {
		r.owner[o.ID] = claim
	}
	claim.ID, claim.known, claim.elsewhere = o.ID, o, why
	if why.Closed == nil { // the host has said that
		claim.log.Error("the outbox is not served", "error", why)
	}
}

// IsOutdated says whether the outboxes are to be identified anew: an operator has decided, or the path leads to another
// directory than the one that was found there.
func (c *Claim) IsOutdated() bool { return c.accepted.Load() || c.replaced() }

// replaced says whether another directory can be opened at the outbox's path than the held one.
func (c *Claim) replaced() bool {
	there := c.atPath()
	if there == nil {
		return false
	}
	return there.Close() == nil
}

// atPath opens the directory that is at the outbox's path in the place of the held one; nil where there is none.
func (c *Claim) atPath() *delegation.Dir {
	if c.Dir.Alive() == nil || c.Dir.Why() != nil { // of one that could not be opened, the host itself asks for all to be opened anew
		return nil
	}
	there, err := delegation.OpenDir(c.Dir.Path())
	if err != nil {
		return nil
	}
	return there
}

// EarlierIsBack says whether a directory that the outbox had before is at its path.
func (c *Claim) EarlierIsBack() bool {
	if len(c.earlier) == 0 {
		return false
	}
	there := c.atPath()
	if there == nil {
		return false
	}
	defer there.Close()
	here, err := directoryOf(there)
	return err == nil && slices.ContainsFunc(c.earlier, here.Same)
}

// Serves says whether the claim is a known outbox in its own directory.
func (c *Claim) Serves(id string) bool { return c.ID == id && c.InOwnDirectory() }

// WouldServe says whether the claim would serve an outbox if its name did not lead elsewhere.
func (c *Claim) WouldServe(id string) bool {
	return !c.InOwnDirectory() && (c.ID == id || c.found.ID == id || slices.Contains(c.maybe, id))
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
