package team

import (
	"encoding/json"
	"testing"
)

// S§1.11, "Child YAML always" and "Team resolution"; the keys are those of S§1.1's example.
func TestConfig(t *testing.T) {
	one := Agent{"backend": map[string]any{
		"type": "codex", "model": "own", "cwd": "/p", "agent_id": "p", "instance_id": "i", "filesystem_session_id": "f",
		"session_storage_base": "s", "agent_temporary_workspace": "t",
	}}
	two := Agent{"id": "b", "backend": map[string]any{"type": "claude"}}
	for name, test := range map[string]struct {
		child Child
		want  string
	}{
		"one agent, once": {
			Child{ID: "s", Workspace: "/w", Agents: []Agent{one}, TaskModel: "task", ContextPaths: []any{map[string]any{"path": "/p", "permission": "read"}}},
			`{"agents":[{"backend":{"cwd":"/w/agent_1","model":"own","type":"codex"},"id":"s_agent_1"}],"orchestrator":{"agent_temporary_workspace":"/w/temp","context_paths":[{"path":"/p","permission":"read"}],"coordination":{"broadcast":false,"enable_subagents":false,"learning_capture_mode":"final_only"},"max_new_answers_per_agent":1,"skip_final_presentation":true,"skip_voting":true,"snapshot_storage":"/w/snapshots"}}`,
		},
		"a team, once": {
			Child{ID: "s", Workspace: "/w", Agents: []Agent{two, {}}, TaskModel: "task", Fallback: "last"},
			`{"agents":[{"backend":{"cwd":"/w/agent_1","model":"task","type":"claude"},"id":"b"},{"backend":{"cwd":"/w/agent_2","model":"task"},"id":"s_agent_2"}],"orchestrator":{"agent_temporary_workspace":"/w/temp","coordination":{"broadcast":false,"enable_subagents":false,"learning_capture_mode":"final_only"},"defer_voting_until_all_answered":true,"disable_injection":true,"final_answer_strategy":"synthesize","max_new_answers_per_agent":1,"skip_final_presentation":true,"snapshot_storage":"/w/snapshots"}}`,
		},
		"a team in its own way": {
			Child{ID: "s", Workspace: "/w", Agents: []Agent{two, two}, TaskModel: "task", Injection: true, VotesAtOnce: true, Coordination: map[string]any{"voting": "x", "enable_subagents": true}},
			`{"agents":[{"backend":{"cwd":"/w/agent_1","model":"task","type":"claude"},"id":"b"},{"backend":{"cwd":"/w/agent_2","model":"task","type":"claude"},"id":"b"}],"orchestrator":{"agent_temporary_workspace":"/w/temp","coordination":{"broadcast":false,"enable_subagents":false,"learning_capture_mode":"final_only","voting":"x"},"defer_voting_until_all_answered":false,"disable_injection":false,"final_answer_strategy":"synthesize","max_new_answers_per_agent":1,"skip_final_presentation":true,"snapshot_storage":"/w/snapshots"}}`,
		},
		"with rounds": {
			Child{ID: "s", Workspace: "/w", Agents: []Agent{two}, Refine: true, Fallback: "last"},
			`{"agents":[{"backend":{"cwd":"/w/agent_1","model":"last","type":"claude"},"id":"b"}],"orchestrator":{"agent_temporary_workspace":"/w/temp","coordination":{"broadcast":false,"enable_subagents":false,"learning_capture_mode":"final_only"},"max_new_answers_per_agent":3,"snapshot_storage":"/w/snapshots"}}`,
		},
	} {
		got, err := json.Marshal(Config(test.child))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, test.want)
		}
	}
	if one["backend"].(map[string]any)["cwd"] != "/p" {
		t.Error("the parent's own configuration was changed")
	}
}

// S§1.11: the last presentation of an evaluator's team.
func TestAnEvaluatorPresents(t *testing.T) {
	for skip, want := range map[bool]bool{false: false, true: true} {
		config := Config(Child{Type: "round_evaluator", Agents: []Agent{{}, {}}, SkipSynthesis: skip})
		if got := config["orchestrator"].(map[string]any)["skip_final_presentation"]; got != want {
			t.Errorf("skip synthesis %v: got %v", skip, got)
		}
	}
}
