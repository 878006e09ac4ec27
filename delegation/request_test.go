package delegation

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is got into testdata")

// TestRefused reads testdata/refused as the table that it is: what is sent, and beside it what is answered.
func TestRefused(t *testing.T) {
	cases, err := filepath.Glob("testdata/refused/*.json")
	if err != nil || len(cases) < 60 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			data := readTestdata(t, path)
			_, err := DecodeRequest(data)
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a refusal", err)
			}
			got := fmt.Sprintf("code:  %s\nfield: %s\ntext:  %s\nhint:  %s\n", refusal.Code, refusal.Field, refusal.Text, refusal.Hint)
			golden(t, strings.TrimSuffix(path, ".json")+".want", []byte(got))
			if strings.ContainsAny(refusal.Text+refusal.Field, "\n\x00\u202e") {
				t.Errorf("the text repeats a control character: %q", refusal.Text)
			}
		})
	}
}

func TestGoldenRequests(t *testing.T) {
	want := map[string]Request{
		"massgen-request": {
			SubagentID: subagentID(t, "s1"), RequestID: requestID(t, "9f2c4e1ab0d37755"),
			Task: "## Subagent Context\n\nYou are a subagent … 🧪 <b>&</b>",
			YAMLConfig: map[string]any{
				"agents": []any{map[string]any{"id": "a1", "backend": map[string]any{
					"type": "codex", "model": "gpt-5", "cwd": "/p/subagents/s1/workspace/agent_1",
					"enable_mcp_command_line": true, "command_line_execution_mode": "docker",
					"command_line_docker_image": "img", "command_line_docker_network_mode": "bridge",
					"temperature": 0.7, "max_tokens": int64(300000000), "seed": int64(9007199254740993),
				}}},
				"orchestrator": map[string]any{
					"snapshot_storage":          "/p/subagents/s1/workspace/snapshots",
					"agent_temporary_workspace": "/p/subagents/s1/workspace/temp",
					"coordination":              map[string]any{"enable_subagents": false},
					"max_new_answers_per_agent": int64(1), "skip_final_presentation": true, "skip_voting": true,
					"context_paths": []any{map[string]any{"path": "/p", "permission": "read"}},
				},
			},
			AnswerFile: "/p/subagents/s1/workspace/answer.txt", Workspace: "/p/subagents/s1/workspace", TimeoutSeconds: 300,
			CreatedAt: time.Date(2026, 11, 21, 2, 14, 5, 339902000, time.UTC),
		},
		"minimal-request": {
			SubagentID: subagentID(t, "s1"), RequestID: requestID(t, "r1"),
			Task: "echo hello", Workspace: "workspaces/s1", TimeoutSeconds: 60,
		},
		"full-request": {
			SubagentID: subagentID(t, "s-2.b"), RequestID: requestID(t, "r 2 é"),
			Task: "-- not an option", AnswerFile: "answer.txt", Workspace: "/work/s2", TimeoutSeconds: 90,
			CreatedAt: time.Date(2026, 11, 21, 0, 14, 5, 123456789, time.UTC),
			Profile:   token(t, "small"), Model: token(t, "vendor/model:1"), SessionID: token(t, "se-1"), ParentID: token(t, "p@host"),
			ContextPaths: []string{"/work/shared", "/work/a b"},
		},
	}
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeRequest(readTestdata(t, "testdata/golden/"+name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %#v\nwant %#v", got, want)
			}
			data, err := got.Encode()
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/golden/"+name+".canonical", data)
		})
	}
}

// TestLeniencies proves each row of the table: what is given is read exactly as what it is taken for, the row is needed,
// and Encode never writes it.
func TestLeniencies(t *testing.T) {
	for _, row := range leniencies {
		t.Run(row.Name, func(t *testing.T) {
			given, taken := withMembers(t, row.Given), withMembers(t, row.Taken)
			got, err := DecodeRequest(given)
			if err != nil {
				t.Fatal(err)
			}
			want, err := DecodeRequest(taken)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s is read as %+v\n%s as %+v", row.Given, got, row.Taken, want)
			}
			if encoded, err := got.Encode(); err != nil || row.Given != "" && bytes.Contains(encoded, []byte(row.Given)) {
				t.Errorf("Encode writes %s, %v", encoded, err)
			}
			if row.take != nil {
				checkNeeded(t, row, given)
			}
		})
	}
}

// checkNeeded reads the example without the one rule; it must then not be read as before.
func checkNeeded(t *testing.T, row leniency, given []byte) {
	t.Helper()
	want, err := DecodeRequest(given)
	if err != nil {
		t.Fatal(err)
	}
	others := slices.DeleteFunc(slices.Clone(leniencies), func(other leniency) bool { return other.Name == row.Name })
	if got, err := decodeRequest(given, others); err == nil && reflect.DeepEqual(got, want) {
		t.Errorf("the row changes nothing: without it %s is read the same way", row.Given)
	}
}

func TestLeniencyOfEveryField(t *testing.T) {
	for _, row := range leniencies {
		if len(row.Fields) == 0 && row.Name != "unknown-field" {
			t.Errorf("%s applies to no field", row.Name)
		}
		for _, field := range row.Fields {
			if !strings.Contains(strings.Join(requestFields, " "), field) {
				t.Errorf("%s names the field %s, which is none", row.Name, field)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for given, want := range map[string]int{
		`30`: 30, `"30"`: 30, `"0030"`: 30, `1.9`: 1, `3e1`: 30, `2147483647`: math.MaxInt32, `2147483648`: math.MaxInt32,
		`1e300`: math.MaxInt32, `1e999999999`: math.MaxInt32, `"99999999999999999999"`: math.MaxInt32,
		`2147483647.5`: math.MaxInt32,
	} {
		r, err := DecodeRequest(withMembers(t, `"timeout_seconds": `+given))
		if err != nil || r.TimeoutSeconds != want {
			t.Errorf("%s: got %d, %v; want %d", given, r.TimeoutSeconds, err, want)
		}
	}
	for _, given := range []string{`true`, `"1e1"`, `" 30"`, `"30s"`, `""`, `"+5"`, `"0x10"`, `"٣"`, `{}`, `-1e300`, `-0.9`} {
		if r, err := DecodeRequest(withMembers(t, `"timeout_seconds": `+given)); err == nil {
			t.Errorf("%s: got %d, want a refusal", given, r.TimeoutSeconds)
		}
	}
}

func TestScalarsAsText(t *testing.T) {
	for given, want := range map[string]string{`true`: "True", `false`: "False", `7`: "7", `-1.50`: "-1.50", `1E2`: "1E2", `" "`: " "} {
		if r, err := DecodeRequest(withMembers(t, `"task": `+given)); err != nil || r.Task != want {
			t.Errorf("%s: %q, %v", given, r.Task, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(levels int) []byte {
		return withMembers(t, `"yaml_config": `+strings.Repeat(`{"[":`, levels-1)+"1"+strings.Repeat("}", levels-1))
	}
	if _, err := DecodeRequest(nested(maxDepth)); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	if _, err := DecodeRequest(nested(maxDepth + 1)); err == nil {
		t.Errorf("%d levels are taken", maxDepth+1)
	}
	if _, err := DecodeRequest(bytes.Repeat([]byte("["), 1<<20)); err == nil {
		t.Error("a million brackets are taken")
	}
}

func TestValuesAreCounted(t *testing.T) {
	with := func(values int) []byte {
		return withMembers(t, `"yaml_config": {"k": [`+strings.Repeat(`{"":0},`, values/2)+`"a, [b"]}`)
	}
	if _, err := DecodeRequest(with(maxValues - 100)); err != nil {
		t.Error(err)
	}
	if _, err := DecodeRequest(with(maxValues + 2)); err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Errorf("too many values: %v", err)
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	good := Request{SubagentID: subagentID(t, "s1"), RequestID: requestID(t, "r1"), Task: "t", Workspace: "w", TimeoutSeconds: 1}
	if _, err := good.Encode(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Request){
		"no id":               func(r *Request) { r.SubagentID = SubagentID{} },
		"no task":             func(r *Request) { r.Task = "" },
		"NUL":                 func(r *Request) { r.Task = "a\x00" },
		"not UTF-8":           func(r *Request) { r.Workspace = "/p/\xff" },
		"context not UTF-8":   func(r *Request) { r.ContextPaths = []string{"\xff"} },
		"too many paths":      func(r *Request) { r.ContextPaths = make([]string, MaxContextPaths+1) },
		"no JSON":             func(r *Request) { r.YAMLConfig = map[string]any{"f": math.Inf(1)} },
		"more than an answer": func(r *Request) { r.TimeoutSeconds = math.MaxInt32 + 1 },
		"year 0":              func(r *Request) { r.CreatedAt = time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC) },
		"year 10000":          func(r *Request) { r.CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		r := good
		spoil(&r)
		if data, err := r.Encode(); err == nil {
			t.Errorf("%s: written as %s", name, data)
		}
	}
}

func TestPeekIDs(t *testing.T) {
	long := strings.Repeat("é", 200)
	for given, want := range map[string][2]string{
		``:      {"", ""},
		`{`:     {"", ""},
		`[1,2]`: {"", ""},
		`["subagent_id", "x", "request_id", "y"]`:                           {"", ""},
		`{"subagent_id":"s1","request_id":"r1"}`:                            {"s1", "r1"},
		`{"request_id":"r1","task":{"subagent_id":"inner"},"su`:             {"", "r1"},
		`{"subagent_id":"../x","request_id":7,"task":`:                      {"../x", "7"},
		`{"subagent_id":"first","subagent_id":"second"}`:                    {"first", ""},
		`{"subagent_id":null,"request_id":{"a":1}}`:                         {"", ""},
		`{"request_id":"` + long + `"}`:                                     {"", long[:MaxRequestID]},
		`{"request_id":"x` + long + `"}`:                                    {"", "x" + long[:MaxRequestID-2]},
		`{"request_id":` + strings.Repeat("[", 20000) + `}`:                 {"", ""},
		`{"subagent_id":"s` + "\xff" + `","request_id":"r1"} trailing text`: {"s\ufffd", "r1"},
	} {
		subagent, request := PeekIDs([]byte(given))
		if subagent != want[0] || request != want[1] {
			t.Errorf("%.60s: got %q, %q", given, subagent, request)
		}
	}
}

// withMembers is a minimal request with some members set; they are the inside of a JSON object.
func withMembers(t *testing.T, members string) []byte {
	t.Helper()
	request := map[string]json.RawMessage{}
	for _, part := range []string{
		`"version": 1, "subagent_id": "s1", "request_id": "r1", "task": "t", "workspace": "w", "timeout_seconds": 60`, members,
	} {
		if err := json.Unmarshal([]byte("{"+part+"}"), &request); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
	}
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readTestdata(t, path); !bytes.Equal(got, want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func readTestdata(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func subagentID(t testing.TB, s string) SubagentID {
	t.Helper()
	id, err := ParseSubagentID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func requestID(t testing.TB, s string) RequestID {
	t.Helper()
	id, err := ParseRequestID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func token(t testing.TB, s string) Token {
	t.Helper()
	parsed, err := ParseToken(s)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
