package collect

import (
	"fmt"
	"time"

	"torno/internal/journal"
)

// Which says whose workspaces are removed.
type Which string

// The choices.
const (
	None Which = "none"
	Made Which = "made" // those that the client made for their subagents
	All  Which = "all"  // and those in the same place that a parent named
)

// Rule says how many workspaces of an outbox are kept. A zero bound does not count.
type Rule struct {
	Which  Which
	Age    time.Duration // since the end of the last run in it
	Number int
	Bytes  int64 // of all together, as the last runs left them
}

// covers says whether the rule is about a workspace.
func (r Rule) covers(made bool) bool { return r.Which == All || r.Which == Made && made }

// over is why the first of some workspaces, the least recently used, is over the rule, or "".
func (r Rule) over(w journal.Workspace, number int, bytes int64, now time.Time) string {
	if why := r.tooMany(number, bytes); why != "" {
		return why
	}
	return r.tooOld(w, now)
}

// tooOld is why a workspace is over the rule's age, or "".
func (r Rule) tooOld(w journal.Workspace, now time.Time) string {
	if idle := now.Sub(w.Used); r.Age > 0 && idle > r.Age {
		return fmt.Sprintf("it was not used for %s, and %s is the rule", idle.Round(time.Second), r.Age)
	}
	return ""
}

// tooMany is why the first of some workspaces, the least recently used, is over the rule's number or size, or "".
func (r Rule) tooMany(number int, bytes int64) string {
	switch {
	case r.Number > 0 && number > r.Number:
		return fmt.Sprintf("there are %d, and %d is the rule", number, r.Number)
	case r.Bytes > 0 && bytes > r.Bytes:
		return fmt.Sprintf("they hold %d bytes, and %d is the rule", bytes, r.Bytes)
	}
	return ""
}
