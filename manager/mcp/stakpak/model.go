package stakpak

import (
	"strings"

	"torno/delegation"
)

// policy chooses the model of a task. The profile's own model comes first: the operator has set it, and the host lets
// no request change it.
type policy struct {
	byAgent    []rule // by the agent's name: its provider's model for such tasks
	downgrades []rule // for other agents: replace a part of the parent's model name
}

type rule struct{ from, to string }

var models = policy{
	byAgent:    []rule{{"claude", "claude-haiku-4-5"}, {"codex", "gpt-5-mini"}},
	downgrades: []rule{{"opus-4-6", "haiku-4-5"}, {"opus", "haiku"}, {"sonnet", "haiku"}},
}

// resolve returns the model of a task, or "" if the agent chooses. ask says whether the request must name the model.
func (p policy) resolve(offer delegation.ProfileOffer, parent string) (model string, ask bool) {
	if offer.Model != "" {
		return offer.Model, false
	}
	for _, r := range p.byAgent {
		if r.from == offer.Agent {
			return r.to, true
		}
	}
	for _, r := range p.downgrades {
		if strings.Contains(parent, r.from) {
			return strings.Replace(parent, r.from, r.to, 1), true
		}
	}
	return parent, parent != ""
}
