package massgen

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// TestRunConfig: what the sandbox gives wins over what it has to, a request's own stays, and the argument is unchanged.
func TestRunConfig(t *testing.T) {
	run := Run{ID: "s1", Workspace: "/w", Context: []string{"/c"}, Base: "http://gateway/v1", Fallback: "asked"}
	operators := run
	operators.Model = "operators"
	for name, test := range map[string]struct {
		run          Run
		config, want string
	}{
		"nothing": {
			run, `{}`,
			`{"agents":[{"id":"s1_agent_1","backend":{"type":"chatcompletion","base_url":"http://gateway/v1","model":"asked","cwd":"/w/agent_1","command_line_execution_mode":"local"}}],
			"orchestrator":{"coordination":{"enable_subagents":false},"context_paths":[{"path":"/c","permission":"read"}],"snapshot_storage":"/w/snapshots","agent_temporary_workspace":"/w/temp",
			"max_new_answers_per_agent":1,"skip_final_presentation":true,"skip_voting":true}}`,
		},
		"a team": {
			run,
			`{"agents":[{"id":"a","backend":{"type":"chatcompletion","base_url":"http://elsewhere","model":"own","cwd":"/w/a","command_line_docker_image":"x"}},{"backend":{"type":"codex"}},"odd",{"backend":7}],
			"orchestrator":{"coordination":{"enable_subagents":true,"x":1},"context_paths":[{"path":"/etc","permission":"write"}],"snapshot_storage":"/w/s"},"timeout_settings":{"x":1}}`,
			`{"agents":[{"id":"a","backend":{"type":"chatcompletion","base_url":"http://gateway/v1","model":"own","cwd":"/w/a","command_line_execution_mode":"local"}},
			{"backend":{"type":"codex","model":"asked","cwd":"/w/agent_2","command_line_execution_mode":"local"}},"odd",{"backend":7}],
			"orchestrator":{"coordination":{"enable_subagents":false,"x":1},"context_paths":[{"path":"/c","permission":"read"}],"snapshot_storage":"/w/s","agent_temporary_workspace":"/w/temp"},"timeout_settings":{"x":1}}`,
		},
		"the operator's model": {
			operators,
			`{"agent":{"backend":{"model":"own"}},"orchestrator":"odd"}`,
			`{"agent":{"backend":{"type":"chatcompletion","base_url":"http://gateway/v1","model":"operators","cwd":"/w/agent_1","command_line_execution_mode":"local"}},
			"orchestrator":{"coordination":{"enable_subagents":false},"context_paths":[{"path":"/c","permission":"read"}],"snapshot_storage":"/w/snapshots","agent_temporary_workspace":"/w/temp"}}`,
		},
	} {
		config := parse(t, test.config)
		got, err := test.run.Config(config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(config, parse(t, test.config)) {
			t.Errorf("%s: its argument was changed", name)
		}
		text, err := json.Marshal(got) // its numbers are ours
		if err != nil || !reflect.DeepEqual(parse(t, string(text)), parse(t, test.want)) {
			t.Errorf("%s: %v, got\n%s", name, err, text)
		}
		if _, err := Encode(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, config := range []string{`{}`, `{"agents":[{"backend":{"model":""}}]}`, `{"agent":{"backend":{}}}`} {
		if _, err := (Run{ID: "s1", Workspace: "/w"}).Config(parse(t, config)); !errors.Is(err, ErrNoModel) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
