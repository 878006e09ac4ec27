package approval

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Approval is one question of an agent's and what has become of it. It changes once. Its times are since the run's release, by a clock
// that nobody sets.
type Approval struct {
	Number  int    // in its run, from 1
	Ask     string // the agent's own name of its question
	Tool    string
	Preview string // the beginning of the arguments
	Cut     bool   // there is more of them
	Digest  string
	Binding Binding
	Asked   time.Duration
	Expires time.Duration

	Outcome Outcome
	By      Decider
	Why     string // what the agent is told of a denial
	Decided time.Duration
}

// Outcome is how a question was decided; "" is not yet.
type Outcome string

// The outcomes.
const (
	Granted   Outcome = "approved"
	Declined  Outcome = "denied"
	Withdrawn Outcome = "withdrawn" // by the agent
)

// Decision is somebody's word about an approval.
type Decision struct {
	Number int
	Digest string // of what the decider has seen
	Grant  bool
	Why    string // for the agent, where it is denied
	By     Decider
}

// What is wrong with a decision.
var (
	ErrNone    = errors.New("there is no such approval")
	ErrUsed    = errors.New("it was decided before, and an approval is used once")
	ErrOther   = errors.New("it is about another call than the one that was seen")
	ErrExpired = errors.New("it has expired")
	ErrChanged = errors.New("what the run may do was changed since it was asked")
	ErrForeign = errors.New("the policy has others decide")
)

// Decide applies a decision. The binding is what counts now.
func (a *Approval) Decide(d Decision, p *Policy, bound Binding, now time.Duration) error {
	switch {
	case a.Outcome != "":
		return ErrUsed
	case a.Digest != d.Digest:
		return ErrOther
	case !p.MayDecide(d.By):
		return ErrForeign
	case now >= a.Expires:
		return ErrExpired
	case d.Grant && a.Binding != bound:
		return ErrChanged
	}
	if d.Grant {
		a.end(Granted, d.By, "", now)
	} else {
		a.end(Declined, d.By, d.Why, now)
	}
	return nil
}

// Is says whether an approval was decided just so, by the same.
func (a *Approval) Is(d Decision) bool {
	return a.By == d.By && a.Digest == d.Digest && (a.Outcome == Granted) == d.Grant && a.Outcome != Withdrawn
}

// Expire denies what has waited for too long. It says whether it did.
func (a *Approval) Expire(now time.Duration) bool {
	if a.Outcome != "" || now < a.Expires {
		return false
	}
	a.end(Declined, ByTime, "nobody decided in time", now)
	return true
}

// End ends an approval that nobody will decide any more. It says whether it did.
func (a *Approval) End(outcome Outcome, by Decider, why string, now time.Duration) bool {
	if a.Outcome != "" {
		return false
	}
	a.end(outcome, by, why, now)
	return true
}

func (a *Approval) end(outcome Outcome, by Decider, why string, now time.Duration) {
	a.Outcome, a.By, a.Why, a.Decided = outcome, by, why, now
}

// Paused is for how long a run's clock has stood still while questions waited: with several at once only once, and limit at most.
func Paused(all []Approval, limit, now time.Duration) time.Duration {
	waits := make([]Approval, 0, len(all))
	for _, a := range all {
		if a.By != ByPolicy {
			waits = append(waits, a)
		}
	}
	slices.SortFunc(waits, func(a, b Approval) int { return cmp.Compare(a.Asked, b.Asked) })
	var sum, until time.Duration
	for _, a := range waits {
		end := now
		if a.Outcome != "" {
			end = a.Decided
		}
		if end = min(end, a.Expires); end > until {
			sum += end - max(a.Asked, until)
			until = end
		}
	}
	return min(sum, limit)
}

// maxPreview is how much of the arguments is shown to a decider in a record; the events have all of them.
const maxPreview = 1 << 10

// Preview is the beginning of a call's arguments, and whether there is more.
func (c Call) Preview() (text string, cut bool) {
	if len(c.Arguments) <= maxPreview {
		return string(c.Arguments), false
	}
	end := maxPreview
	for end > 0 && c.Arguments[end]&0xc0 == 0x80 { // not within a character
		end--
	}
	return string(c.Arguments[:end]), true
}
