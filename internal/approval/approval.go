package approval

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Approval is one question of an agent and its outcome. It changes once. Its times count from the run's release, by a
// clock that nobody sets.
type Approval struct {
	Number  int    // in its run, from 1
	Ask     string // the agent's own name for its question
	Tool    string
	Preview string // the beginning of the arguments
	Cut     bool   // the arguments go on
	Digest  string
	Binding Binding
	Asked   time.Duration
	Expires time.Duration

	Outcome Outcome
	By      Decider
	Why     string // told to the agent if the call is denied
	Decided time.Duration
}

// Outcome says how a question was decided; "" means not yet.
type Outcome string

// The outcomes.
const (
	Granted   Outcome = "approved"
	Declined  Outcome = "denied"
	Withdrawn Outcome = "withdrawn" // by the agent
)

// Decision is a decider's answer to the question of an approval.
type Decision struct {
	Number int
	Digest string // of the call that the decider has seen
	Grant  bool
	Why    string // for the agent, if the call is denied
	By     Decider
}

// These errors say why a decision is not applied.
var (
	ErrNone    = errors.New("there is no such approval")
	ErrUsed    = errors.New("it was already decided, and an approval can be used only once")
	ErrOther   = errors.New("it is about another call than the call that was seen")
	ErrExpired = errors.New("it has expired")
	ErrChanged = errors.New("the run's permissions have changed since the question")
	ErrForeign = errors.New("the policy lets only others decide")
)

// IsRefusal reports whether a decision was refused for what it says. Any other error is trouble, and the decision may be
// tried again.
func IsRefusal(err error) bool {
	return slices.ContainsFunc([]error{ErrNone, ErrUsed, ErrOther, ErrExpired, ErrChanged, ErrForeign}, func(e error) bool { return errors.Is(err, e) })
}

// Decide applies a decision. bound is the binding that is valid now: a grant needs it to equal the approval's own
// binding.
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

// Is reports whether the approval was decided in exactly this way, by the same decider.
func (a *Approval) Is(d Decision) bool {
	return a.By == d.By && a.Digest == d.Digest && (a.Outcome == Granted) == d.Grant && a.Outcome != Withdrawn
}

// Expire denies an approval that has waited too long. It reports whether it did.
func (a *Approval) Expire(now time.Duration) bool {
	if a.Outcome != "" || now < a.Expires {
		return false
	}
	a.end(Declined, ByTime, "no decision came in time", now)
	return true
}

// End ends an approval that nobody will decide any more. It reports whether it did.
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

// Paused returns how long a run's clock has stood still while questions waited. If several waited at once, that time
// counts once. The result is at most limit.
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

// maxPreview bounds how much of the arguments a record shows to a decider, in bytes. The events have all of them.
const maxPreview = 1 << 10

// Preview returns the beginning of a call's arguments, and whether there are more.
func (c Call) Preview() (text string, cut bool) {
	if len(c.Arguments) <= maxPreview {
		return string(c.Arguments), false
	}
	end := maxPreview
	for end > 0 && c.Arguments[end]&0xc0 == 0x80 { // do not cut within a character
		end--
	}
	return string(c.Arguments[:end]), true
}
