package stakpak

import (
	"strings"

	"torno/delegation"
)

// policy chooses the model of a task. The profile's own model comes first: the operator has set it, and the host lets
// no request change it.
type policy struct {
	byAgent    []rule // by the agent's name: its provider's model for such tasks
	byProvider []rule // for other agents: by the provider that the parent's model names
	downgrades []rule // for the other providers: replace a part of the parent's model name
}

type rule struct{ from, to string }

var models = policy{
	byAgent: []rule{{"claude", "claude-haiku-4-5"}, {"codex", "gpt-5-mini"}},
	byProvider: []rule{
		{"anthropic", "claude-haiku-4-5"}, {"openai", "gpt-5-mini"}, {"google", "gemini-2.0-flash"}, {"gemini", "gemini-2.0-flash"},
		{"amazon-bedrock", "claude-haiku-4-5"}, {"stakpak", "anthropic/claude-haiku-4-5"},
	},
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
	provider, _, named := strings.Cut(parent, "/")
	for _, r := range p.byProvider {
		if named && r.from == provider {
			return provider + "/" + r.to, true
		}
	}
	for _, r := range p.downgrades {
		if strings.Contains(parent, r.from) {
			return strings.Replace(parent, r.from, r.to, 1), true
		}
	}
	return parent, parent != ""
}
