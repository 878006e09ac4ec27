package approval

import (
	"errors"
	"testing"
	"time"
)

// TestDecidedOnce: a decision is about what was seen, comes from who may decide, in time, and counts once.
func TestDecidedOnce(t *testing.T) {
	begin := time.Minute
	bound := Binding{"run", "policy"}
	p := &Policy{DecidedBy: []Decider{ByParent}}
	fresh := func() *Approval {
		return &Approval{Number: 1, Digest: "d", Binding: bound, Asked: begin, Expires: begin + time.Minute}
	}
	grant := Decision{Number: 1, Digest: "d", Grant: true, By: ByParent}
	for name, c := range map[string]struct {
		change func(*Approval, *Decision, *Binding) time.Duration
		want   error
	}{
		"in time":       {func(*Approval, *Decision, *Binding) time.Duration { return 59 * time.Second }, nil},
		"late":          {func(*Approval, *Decision, *Binding) time.Duration { return time.Minute }, ErrExpired},
		"another call":  {func(_ *Approval, d *Decision, _ *Binding) time.Duration { d.Digest = "e"; return 0 }, ErrOther},
		"the operator":  {func(_ *Approval, d *Decision, _ *Binding) time.Duration { d.By = ByOperator; return 0 }, ErrForeign},
		"changed since": {func(_ *Approval, _ *Decision, b *Binding) time.Duration { b.Policy = "policy.1"; return 0 }, ErrChanged},
		"denied, changed": {func(_ *Approval, d *Decision, b *Binding) time.Duration {
			b.Policy, d.Grant = "policy.1", false
			return 0
		}, nil},
		"withdrawn before": {func(a *Approval, _ *Decision, _ *Binding) time.Duration {
			a.End(Withdrawn, ByAgent, "", begin)
			return 0
		}, ErrUsed},
	} {
		a, d, b := fresh(), grant, bound
		after := c.change(a, &d, &b)
		if err := a.Decide(d, p, b, begin+after); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.Decide(grant, p, bound, begin); c.want == nil && !errors.Is(err, ErrUsed) {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// TestExpiresIntoDenial: nobody's word is a denial.
func TestExpiresIntoDenial(t *testing.T) {
	begin := time.Minute
	a := &Approval{Expires: begin + time.Minute}
	if a.Expire(begin + time.Minute - 1) {
		t.Error("it expired early")
	}
	if !a.Expire(begin+time.Minute) || a.Outcome != Declined || a.By != ByTime || a.Expire(time.Hour) {
		t.Errorf("%+v", a)
	}
}

// TestPaused: what waits at the same time counts once, what the policy decided not at all, and no more than the bound.
func TestPaused(t *testing.T) {
	m := time.Minute
	all := []Approval{
		{Asked: 10 * m, Expires: 15 * m, Outcome: Granted, By: ByParent, Decided: 12 * m},
		{Asked: 1 * m, Expires: 6 * m, Outcome: Declined, By: ByTime, Decided: 6 * m},
		{Asked: 2 * m, Expires: 7 * m, Outcome: Granted, By: ByOperator, Decided: 3 * m},
		{Asked: 5 * m, Expires: 10 * m, Outcome: Withdrawn, By: ByAgent, Decided: 8 * m},
		{Asked: 0, Expires: 5 * m, Outcome: Granted, By: ByPolicy, Decided: 9 * m},
		{Asked: 20 * m, Expires: 25 * m},
	}
	for now, want := range map[time.Duration]time.Duration{20 * m: 9 * m, 21 * m: 10 * m, 25 * m: 14 * m, time.Hour: 14 * m} {
		if got := Paused(all, time.Hour, now); got != want {
			t.Errorf("at %v: %v, not %v", now, got, want)
		}
	}
	if got := Paused(all, 3*m, 20*m); got != 3*m {
		t.Errorf("over the bound: %v", got)
	}
}
