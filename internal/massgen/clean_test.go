package massgen

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestCleanYAML(t *testing.T) {
	config := parse(t, `{
		"agents": [
			{"backend": {"type": "codex", "command_line_execution_mode": "docker", "command_line_docker_image": "x",
				"nested": [[{"command_line_docker_network_mode": "host", "keep": 1}]]}},
			{"backend": {}}, {"id": "no backend"}, {"backend": "a text"}, "no object"
		],
		"agent": {"backend": {"Command_Line_Docker_Sudo": true, "  command_line_docker_": null}},
		"subagent_agents": [{"backend": {"command_line_execution_mode": "docker"}}],
		"other": {"backend": {"command_line_execution_mode": "docker"}, "my_command_line_docker_x": "not the prefix"}
	}`)
	want := parse(t, `{
		"agents": [
			{"backend": {"type": "codex", "command_line_execution_mode": "local", "nested": [[{"keep": 1}]]}},
			{"backend": {"command_line_execution_mode": "local"}}, {"id": "no backend"}, {"backend": "a text"}, "no object"
		],
		"agent": {"backend": {"command_line_execution_mode": "local"}},
		"subagent_agents": [{"backend": {"command_line_execution_mode": "local"}}],
		"other": {"backend": {"command_line_execution_mode": "docker"}, "my_command_line_docker_x": "not the prefix"}
	}`)
	if got := Clean(config); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestCleanYAMLOfNothing(t *testing.T) {
	if got := Clean(nil); got == nil || len(got) != 0 {
		t.Errorf("got %v, want an empty mapping, which is what an agent can read", got)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	config, ok := parseAny([]byte(text)).(map[string]any)
	if !ok {
		t.Fatalf("no object: %s", text)
	}
	return config
}

func parseAny(text []byte) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil
	}
	return value
}

// TestYAMLNumbers has what a reader of YAML 1.1 would take for a text, were it written as JSON has it.
func TestYAMLNumbers(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{json.Number("5"), "5"},
		{json.Number("-5"), "-5"},
		{json.Number("123456789012345678901234567890"), "123456789012345678901234567890"},
		{json.Number("1.50"), "1.50"},
		{json.Number("1e21"), "1.0e+21"},
		{json.Number("1E-7"), "1.0e-7"},
		{json.Number("2.5e+3"), "2.5e+3"},
		{int64(5), "5"},
		{int64(-9223372036854775808), "-9223372036854775808"},
		{float64(300), "300"},
		{1e300, "1.0e+300"},
		{0.1, "0.1"},
		{"1e21", `"1e21"`},
		{"12:30", `"12:30"`},
		{"no", `"no"`},
		{nil, "null"},
	} {
		text, err := Encode(map[string]any{"k": test.value})
		if err != nil || string(text) != "k: "+test.want+"\n" {
			t.Errorf("%#v became %q (error %v), want k: %s", test.value, text, err, test.want)
		}
	}
}
