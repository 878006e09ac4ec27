package massgen

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"

	"torno/delegation"
)

// FuzzCleanYAML compares with a second way to say the same, looks for what must not be left, and reads the file as the
// agent will: the same values, and nothing in it that could unfold.
func FuzzCleanYAML(f *testing.F) {
	for _, text := range []string{
		`{"agents":[{"backend":{"command_line_docker_image":"x"}}],"agent":{"backend":{"a":1e99}}}`,
		`{"a":[{"\u00a0COMMAND_LINE_DOCKER_x":[]}, null, -0.5], "subagent_agents": {"backend": 5}}`,
		`{"yes":"no","<<":"*a","~":null,"1":"0x1f","k\u2028":"\ud83d\ude00\u0000","n":12345678901234567890}`,
		`{"a":[[[{"b":{"command_line_docker_":1,"Command_Line_Docker_Sudo":true,"COMMAND_LINE_DOC\u212aER_x":0}}]]]}`,
		`{"command_line_docker":1,"xcommand_line_docker_y":2,"command_line_docker_network_mode":{"command_line_execution_mode":"docker"}}`,
		`{"\tcommand_line_docker_a":0,"\u2003command_line_docker_b\n":0,"\u200bcommand_line_docker_c":0,"command_line_docker_\u0000":0}`,
		`{"agents":{"backend":{"command_line_execution_mode":"docker"}},"agent":[{"backend":{}}],"subagent_agents":[[{"backend":{}}],"x",null]}`,
		`{"&a":"&a b","*a":"*b","!!binary":"!!python/object/apply:os.system [id]","<<":{"a":1},"? x":"- y","#":"# z","%YAML 1.1":"---","...":"..."}`,
		`{"=":"=","y":"Y","off":"OFF","null":"NULL","nan":".nan","inf":"-.inf","oct":"0o17","sexa":"12:30:45","date":"2001-12-14","_":"1_000","t":" a\tb ","crlf":"a\r\nb"}`,
		`{"a":[1e400,-0.0,5e-324,1E5,0.1e1,9007199254740993,-9223372036854775809,1e15,123456789012345678901234567890.5]}`,
		`{"long":"` + strings.Repeat("word ", 60) + `","tabs":"\t\tx","bs":"\\","nel":"\u0085","ls":"\u2028","bom":"\ufeff","ctl":"\u0001\u001b","del":"\u007f","c1":"\u009b","ff":"\uffff","d":"\ud800"}`,
		`{"a":` + strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60) + `,"b":` + strings.Repeat(`{"c":`, 60) + `1` + strings.Repeat(`}`, 60) + `}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, ok := asked(data)
		if !ok {
			return
		}
		before, _ := asked(data)
		clean := Clean(config)
		if !reflect.DeepEqual(config, before) {
			t.Fatal("the argument was changed")
		}
		if key := dockerKeyIn(clean); key != "" {
			t.Errorf("the key %q survived in %v", key, clean)
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

// asked is a yaml_config as a request brings it: by the door that every request comes through.
func asked(data []byte) (map[string]any, bool) {
	const request = `{"version":1,"subagent_id":"s1","request_id":"r1","task":"t","workspace":"w","timeout_seconds":1,"yaml_config":`
	r, err := delegation.DecodeRequest(slices.Concat([]byte(request), data, []byte("}")))
	return r.YAMLConfig, err == nil
}

// dockerKeyIn finds a key that asks for a container in any case that Unicode knows, at any depth.
func dockerKeyIn(value any) string {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			start := []rune(strings.TrimFunc(key, unicode.IsSpace))
			if len(start) >= len(dockerKeys) && strings.EqualFold(string(start[:len(dockerKeys)]), dockerKeys) {
				return key
			}
			if found := dockerKeyIn(inner); found != "" {
				return found
			}
		}
	case []any:
		for _, inner := range value {
			if found := dockerKeyIn(inner); found != "" {
				return found
			}
		}
	}
	return ""
}

// unfolds says whether a reader would see things elsewhere than where they stand, or make objects of them.
func unfolds(n *yaml.Node) bool {
	odd := n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!null"}, n.ShortTag())
	return odd || n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || slices.ContainsFunc(n.Content, unfolds)
}

// checkYAML reads the YAML back, as values: how a number is spelled may differ.
func checkYAML(t *testing.T, config map[string]any) {
	t.Helper()
	text, err := Encode(config)
	if err != nil {
		return // too big
	}
	if len(text) > maxYAML {
		t.Errorf("%d bytes of YAML", len(text))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || unfolds(&document) {
		t.Fatalf("anchors, aliases or merge keys (%v) in\n%s", err, text)
	}
	var back map[string]any
	if err := document.Decode(&back); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if got, want := plain(back), plain(config); len(config) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("wrote\n%s\nread  %#v\nfrom  %#v", text, got, want)
	}
}

// plain gives every number the type that delegation gives it.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range value {
			out[key] = plain(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range value {
			out = append(out, plain(inner))
		}
		return out
	case int:
		return int64(value)
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<63 {
			return int64(value)
		}
	}
	return value
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

// setLocal does to want what Clean must have done, and to its result nothing.
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
