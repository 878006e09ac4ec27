package mcp

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"torno/delegation"
)

// asked remembers the questions of subagents that a wait has brought to the client. Each question ends only one wait
// early. Later waits ignore it, so that a model that does not decide does not call wait in a circle.
type asked struct {
	mu    sync.Mutex
	told  map[questionKey]bool
	order []questionKey // the keys of told, the oldest first
}

// questionKey distinguishes a question from all others.
type questionKey struct {
	request  string
	approval int
	digest   string
}

// maxAskedKept bounds how many questions asked remembers. It is many times the number of questions that the subagents
// of one wait can ask at once.
const maxAskedKept = 16 * maxWaited * maxQuestions

// untold returns those questions of a run that an answer shows and the client has not heard of.
func (a *asked) untold(request string, waiting []delegation.PendingApproval) (keys []questionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range waiting[:min(len(waiting), maxQuestions)] {
		key := questionKey{request, q.Approval, q.Digest}
		if !a.told[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// note remembers questions that go out to the client.
func (a *asked) note(keys []questionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[questionKey]bool{}
	}
	for _, key := range keys {
		if a.told[key] {
			continue
		}
		a.told[key], a.order = true, append(a.order, key)
		if len(a.order) > maxAskedKept {
			delete(a.told, a.order[0])
			a.order = a.order[1:]
		}
	}
}

// keysOf returns the keys of the questions that an answer shows of a run.
func keysOf(request string, shown []question) (keys []questionKey) {
	for _, q := range shown {
		keys = append(keys, questionKey{request, q.Approval, q.Digest})
	}
	return keys
}

// nextDecision returns the next step if subagents wait for a decision, or "".
func nextDecision(waiting []standing) string {
	var ours, operators, unseen []string
	for _, one := range waiting {
		forUs := slices.ContainsFunc(one.Asks, question.forParent)
		switch {
		case forUs:
			ours = append(ours, one.ID)
		case len(one.Asks) > 0:
			operators = append(operators, one.ID)
		}
		if one.AsksMore {
			unseen = append(unseen, one.ID)
		}
	}
	var steps []string
	if len(ours) > 0 {
		steps = append(steps, "judge the questions of "+namesOf(ours)+", and decide those that you may with approve")
	}
	if len(unseen) > 0 {
		steps = append(steps, "call status with one id alone to see the other questions of "+namesOf(unseen)+", and decide those that you may with approve")
	}
	if len(operators) > 0 {
		steps = append(steps, "tell the user that only the operator may decide the questions of "+namesOf(operators)+", on the host, with watcher approve or watcher deny")
	}
	if len(steps) == 0 {
		return ""
	}
	return strings.Join(append(steps, "call wait again"), "; ")
}

// forParent reports whether the parent may decide a question.
func (q question) forParent() bool {
	return len(q.DecidedBy) == 0 || slices.Contains(q.DecidedBy, "parent")
}

// maxAskersNamed bounds the next step of a wait. The list of subagents above it names the others.
const maxAskersNamed = 8

// namesOf lists the first IDs, and says how many more there are.
func namesOf(ids []string) string {
	named := strings.Join(ids[:min(len(ids), maxAskersNamed)], ", ")
	if more := len(ids) - maxAskersNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", named, more)
	}
	return named
}
