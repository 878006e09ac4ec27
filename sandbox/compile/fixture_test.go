package compile_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// fixture is a file of testdata: what is different from base.json, and for a refusal what must come of it.
type fixture struct {
	Request map[string]any `json:"request,omitempty"` // members; null takes one away
	Repeat  map[string]int `json:"repeat,omitempty"`  // members that are the letter x so many times
	Policy  map[string]any `json:"policy,omitempty"`  // members, in the spelling of compile.Policy
	Refusal *refusal       `json:"refusal,omitempty"`
}

// refusal is a delegation.Refusal with its text.
type refusal struct {
	Code  delegation.Code `json:"code"`
	Field string          `json:"field"`
	Text  string          `json:"text"`
	Hint  string          `json:"hint"`
}

// compileFile compiles base.json with the differences of one file.
func compileFile(t *testing.T, name string) (fixture, sandbox.Spec, []string, error) {
	t.Helper()
	base, own := readFixture(t, "testdata/base.json"), readFixture(t, name)
	policy := mergedPolicy(t, name, base.Policy, own.Policy)
	request := base.Request
	for key, value := range own.Request {
		request[key] = value
		if value == nil {
			delete(request, key)
		}
	}
	for key, times := range own.Repeat {
		request[key] = strings.Repeat("x", times)
	}
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	req, err := delegation.DecodeRequest(data)
	if err != nil {
		t.Fatalf("%s: the request does not decode: %v", name, err)
	}
	spec, warnings, err := compile.Compile(req, policy)
	return own, spec, warnings, err
}

func mergedPolicy(t *testing.T, name string, base, own map[string]any) (policy compile.Policy) {
	t.Helper()
	maps.Copy(base, own)
	data, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&policy); err != nil {
		t.Fatalf("%s: the policy: %v", name, err)
	}
	return policy
}

func readFixture(t *testing.T, name string) fixture {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func fixtures(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures in testdata/%s: %v", dir, err)
	}
	return names
}

func writeJSON(t *testing.T, name string, value any) {
	t.Helper()
	if err := os.WriteFile(name, indented(t, value), 0o644); err != nil {
		t.Fatal(err)
	}
}

func indented(t *testing.T, value any) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
