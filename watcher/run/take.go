package run

import "torno/delegation"

// takeInputs reads the files that are there.
func (r *Run) takeInputs() {
	in, news, absent := r.inputs, false, false
	for n := in.wanted(); n > 0; n = in.wanted() {
		if refusal, early := in.wasEarly(n); early {
			in.passed(refusal)
			news = true
			continue
		}
		input, refusal, there := r.client.ReadInput(n)
		if !there {
			absent = true
			break
		}
		if input.Kind == delegation.InputDecision && refusal == nil {
			in.passed(r.decideByParent(input))
			news = true
			continue
		}
		in.took(input, refusal)
		news = news || refusal != nil || !in.takes
	}
	if !absent {
		r.decideEarly()
	}
	if in.lacks(absent) || news {
		r.showInputs()
	}
}

// decideEarly takes the decisions that wait behind what the agent has not acknowledged: an agent that asks may hear nothing before it has its
// decision. Each file is looked at once, and what is no decision waits for its turn.
func (r *Run) decideEarly() {
	in := r.inputs
	for n := in.afterAhead(); n <= delegation.MaxInputs; n = in.afterAhead() {
		input, refusal, there := r.client.ReadInput(n)
		if !there {
			return
		}
		isDecision := input.Kind == delegation.InputDecision && refusal == nil
		if isDecision {
			refusal = r.decideByParent(input)
		}
		in.lookedAhead(n, isDecision, refusal)
	}
}

func (r *Run) showInputs() {
	status := r.inputs.status()
	r.change(func(s *Standing) { s.Input = status })
}

// afterAhead is the first number behind those that were read, or looked at before their turn.
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

// wasEarly says whether an input was a decision that was taken before its turn, and why it was refused then.
func (in *inputs) wasEarly(n int) (*delegation.Refusal, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	refusal, early := in.early[n]
	delete(in.early, n)
	return refusal, early
}

// passed goes by an input that is not for the agent, or says why it was refused.
func (in *inputs) passed(refusal *delegation.Refusal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := in.next
	in.next++
	if refusal != nil {
		in.refuse(n, refusal)
	}
}
