package team

import (
	"fmt"
	"testing"
)

func named(id string) Agent { return Agent{"id": id, "backend": map[string]any{"type": id}} }

func withOwn(id string) Agent {
	agent := named(id)
	agent["subagent_agents"] = []any{map[string]any{"id": "own", "backend": map[string]any{"type": "own"}}}
	return agent
}

// S§1.11, "Team resolution".
func TestResolve(t *testing.T) {
	common := []Agent{named("common")}
	for _, test := range []struct {
		name, kind string
		o          Orchestrator
		parents    []Agent
		want       string
	}{
		{"1 common where shared", "round_evaluator", Orchestrator{Agents: common}, []Agent{withOwn("p")}, "[common]"},
		{"1 all are shared", "critic", Orchestrator{Agents: common, SharedTypes: []string{"*"}}, []Agent{withOwn("p")}, "[common]"},
		{"1 shared also where it inherits", "round_evaluator", Orchestrator{Agents: common, Inherit: true}, []Agent{named("p")}, "[common]"},
		{"2 local where not shared", "critic", Orchestrator{Agents: common}, []Agent{withOwn("p")}, "[own]"},
		{"2 local where shared and no common", "round_evaluator", Orchestrator{}, []Agent{withOwn("p")}, "[own]"},
		{"2 the parent's backend where not shared", "", Orchestrator{Agents: common}, []Agent{named("p"), named("q")}, "[p]"},
		{"2 the parent's backend where it inherits", "round_evaluator", Orchestrator{Inherit: true}, []Agent{named("q"), named("p")}, "[p]"},
		{"3 common where there is no such parent", "critic", Orchestrator{Agents: common}, []Agent{named("q")}, "[common]"},
		{"4 all parents", "round_evaluator", Orchestrator{}, []Agent{named("p"), named("q")}, "[p q]"},
		{"nothing shared", "round_evaluator", Orchestrator{Agents: common, SharedTypes: []string{}}, []Agent{named("p")}, "[p]"},
		{
			"inherit and no such parent", "",
			Orchestrator{Inherit: true},
			[]Agent{named("q")},
			"Unable to inherit backend for spawning parent agent 'p': parent agent config not found",
		},
		{"eleven", "", Orchestrator{Agents: make([]Agent, 11)}, nil, "Cannot have more than 10 agents for subagents"},
	} {
		agents, err := Resolve(test.kind, test.o, test.parents, "p")
		var types []any
		for _, agent := range agents {
			types = append(types, agent["backend"].(map[string]any)["type"])
		}
		got := fmt.Sprint(types)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
