package collect

import (
	"fmt"
	"time"

	"torno/internal/journal"
)

// Which tells which workspaces are removed.
type Which string

// The choices.
const (
	None Which = "none"
	Made Which = "made" // workspaces that the client made for its subagents
	All  Which = "all"  // also workspaces in the same place that a parent named
)

// Rule bounds how many workspaces of an outbox are kept. A bound of zero does not apply.
type Rule struct {
	Which  Which
	Age    time.Duration // since the end of the last run in the workspace
	Number int
	Bytes  int64 // of all workspaces together, as the last runs left them
}

// covers reports whether the rule applies to a workspace; made tells that its client made it.
func (r Rule) covers(made bool) bool { return r.Which == All || r.Which == Made && made }

// over explains why w, the least recently used workspace, is over the rule, or returns "".
func (r Rule) over(w journal.Workspace, number int, bytes int64, now time.Time) string {
	if why := r.tooMany(number, bytes); why != "" {
		return why
	}
	return r.tooOld(w, now)
}

// tooOld explains why a workspace is over the rule's age, or returns "".
func (r Rule) tooOld(w journal.Workspace, now time.Time) string {
	if idle := now.Sub(w.Used); r.Age > 0 && idle > r.Age {
		return fmt.Sprintf("it was not used for %s, and the rule allows %s", idle.Round(time.Second), r.Age)
	}
	return ""
}

// tooMany explains why the least recently used workspace is over the rule's number or size, or returns "".
func (r Rule) tooMany(number int, bytes int64) string {
	switch {
	case r.Number > 0 && number > r.Number:
		return fmt.Sprintf("there are %d, and the rule allows %d", number, r.Number)
	case r.Bytes > 0 && bytes > r.Bytes:
		return fmt.Sprintf("they hold %d bytes, and the rule allows %d", bytes, r.Bytes)
	}
	return ""
}
