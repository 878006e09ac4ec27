package sandbox

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
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
	if got := CleanYAML(config); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestCleanYAMLOfNothing(t *testing.T) {
	if got := CleanYAML(nil); got == nil || len(got) != 0 {
		t.Errorf("got %v, want an empty mapping, which is what an agent can read", got)
	}
}

// FuzzCleanYAML compares with a second way to say the same, and looks for what must not be left.
func FuzzCleanYAML(f *testing.F) {
	f.Add([]byte(`{"agents":[{"backend":{"command_line_docker_image":"x"}}],"agent":{"backend":{"a":1e99}}}`))
	f.Add([]byte(`{"a":[{"\u00a0COMMAND_LINE_DOCKER_x":[]}, null, -0.5], "subagent_agents": {"backend": 5}}`))
	f.Add([]byte(`{"yes":"no","<<":"*a","~":null,"1":"0x1f","k\u2028":"\ud83d\ude00\u0000","n":12345678901234567890}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var config, before map[string]any
		if json.Unmarshal(data, &config) != nil || json.Unmarshal(data, &before) != nil {
			return
		}
		clean := CleanYAML(config)
		if !reflect.DeepEqual(config, before) {
			t.Fatal("the argument was changed")
		}
		if text, _ := json.Marshal(clean); bytes.Contains(bytes.ToLower(text), []byte(`"command_line_docker_`)) && hasDockerKey(clean) {
			t.Errorf("a docker key survived: %s", text)
		}
		want, _ := filtered(before).(map[string]any)
		setLocal(clean)
		setLocal(want)
		if len(want)+len(clean) > 0 && !reflect.DeepEqual(clean, want) {
			t.Errorf("got\n%v\nwant\n%v", clean, want)
		}
		checkYAML(t, clean)
	})
}

// checkYAML reads the YAML back. Numbers are compared as floats: the spelling may differ, the value may not.
func checkYAML(t *testing.T, config map[string]any) {
	t.Helper()
	text, err := encodeYAML(config)
	if err != nil {
		return // too big
	}
	var back map[string]any
	if err := yaml.Unmarshal(text, &back); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if got, want := floats(back), floats(config); len(config) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("wrote\n%s\nread  %#v\nfrom  %#v", text, got, want)
	}
}

func floats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range value {
			out[key] = floats(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range value {
			out = append(out, floats(inner))
		}
		return out
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case uint64:
		return float64(value)
	default:
		return value
	}
}

func hasDockerKey(value any) bool {
	text, _ := json.Marshal(value)
	return !reflect.DeepEqual(filtered(parseAny(text)), parseAny(text))
}

func filtered(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, _ any) bool {
			return strings.HasPrefix(strings.ToLower(strings.TrimSpace(key)), "command_line_docker_")
		})
		for key := range value {
			value[key] = filtered(value[key])
		}
	case []any:
		for i := range value {
			value[i] = filtered(value[i])
		}
	}
	return value
}

// setLocal does to want what CleanYAML must have done, and to its result nothing.
func setLocal(config map[string]any) {
	agents, _ := config["agents"].([]any)
	others, _ := config["subagent_agents"].([]any)
	for _, agent := range append(append([]any{config["agent"]}, agents...), others...) {
		if object, ok := agent.(map[string]any); ok {
			if backend, ok := object["backend"].(map[string]any); ok {
				backend["command_line_execution_mode"] = "local"
			}
		}
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
		{float64(300), "300"},
		{1e300, "1.0e+300"},
		{0.1, "0.1"},
		{"1e21", `"1e21"`},
		{"12:30", `"12:30"`},
		{"no", `"no"`},
		{nil, "null"},
	} {
		text, err := encodeYAML(map[string]any{"k": test.value})
		if err != nil || string(text) != "k: "+test.want+"\n" {
			t.Errorf("%#v became %q (error %v), want k: %s", test.value, text, err, test.want)
		}
	}
}
