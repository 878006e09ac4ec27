package run

import (
	"context"

	"torno/delegation"
)

// takeInputs reads the parent's input files that are there, in order. It returns false if it has to be called again soon,
// because the journal did not take a decision.
func (r *Run) takeInputs(ctx context.Context) (all bool) {
	in, news, absent, all := r.inputs, false, false, true
	for n := in.wanted(); n > 0; n = in.wanted() {
		if refusal, early := in.wasEarly(n); early {
			in.passed(refusal)
			news = true
			continue
		}
		input, refusal, there := r.client.ReadInput(ctx, n)
		if !there {
			absent = true
			break
		}
		if input.Kind == delegation.InputDecision && refusal == nil {
			if refusal, all = r.decideByParent(input); !all {
				break
			}
			in.passed(refusal)
			news = true
			continue
		}
		in.took(input, refusal)
		news = news || refusal != nil || !in.takes
	}
	if !absent && all {
		all = r.decideEarly(ctx)
	}
	if in.lacks(absent) || news {
		r.showInputs()
	}
	return all
}

// decideEarly takes decisions that wait behind inputs which the agent has not acknowledged: an agent that asks may hear
// nothing before it has its decision. decideEarly looks at each file once; an input that is no decision waits for its
// turn. It returns false if the journal did not take a decision.
func (r *Run) decideEarly(ctx context.Context) (all bool) {
	in := r.inputs
	for n := in.afterAhead(); n <= delegation.MaxInputs; n = in.afterAhead() {
		input, refusal, there := r.client.ReadInput(ctx, n)
		if !there {
			return true
		}
		isDecision := input.Kind == delegation.InputDecision && refusal == nil
		if isDecision {
			if refusal, all = r.decideByParent(input); !all {
				return false
			}
		}
		in.lookedAhead(n, isDecision, refusal)
	}
	return true
}

func (r *Run) showInputs() {
	status := r.inputs.status()
	r.change(func(s *Standing) { s.Input = status })
}

// afterAhead returns the first number after all files that were read, or looked at before their turn.
func (in *inputs) afterAhead() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return max(in.next, in.ahead+1)
}

func (in *inputs) lookedAhead(n int, isDecision bool, refusal *delegation.Refusal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ahead = n
	if isDecision {
		in.early[n] = refusal
	}
}

// wasEarly reports whether an input was a decision that was taken before its turn. If that decision was refused,
// wasEarly returns the refusal.
func (in *inputs) wasEarly(n int) (*delegation.Refusal, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	refusal, early := in.early[n]
	delete(in.early, n)
	return refusal, early
}

// passed skips an input that is not for the agent, and notes the refusal if there is one.
func (in *inputs) passed(refusal *delegation.Refusal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := in.next
	in.next++
	if refusal != nil {
		in.refuse(n, refusal)
	}
}
