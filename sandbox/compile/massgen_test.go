package compile_test

import (
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// TestAMassGenHasItsConfiguration as a file of the host's, in which the gateway's address and the operator's model stand. It cannot be had without a
// model, nor with a task that is no argument.
func TestAMassGenHasItsConfiguration(t *testing.T) {
	policy := bounded("massgen")
	p := &policy.Profiles[0]
	p.Agent, p.Model, p.Env = "massgen", "operators", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:4180/v1"}
	spec, _, err := compile.Compile(request(t, "--help"), policy)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(spec.Process.Argv, "--config")
	if at < 0 || spec.Process.Argv[at+1] != "/run/torno/run/config.yaml" || slices.Contains(spec.Process.Argv, "--model") || !spec.Process.Lasting {
		t.Errorf("its arguments are %q", spec.Process.Argv)
	}
	i := slices.IndexFunc(spec.Files, func(f sandbox.File) bool { return f.Name == "config.yaml" })
	if i < 0 {
		t.Fatalf("its files are %+v", spec.Files)
	}
	for _, want := range []string{`base_url: "http://127.0.0.1:4180/v1"`, "model: operators", "enable_subagents: false"} {
		if !strings.Contains(string(spec.Files[i].Content), want) {
			t.Errorf("%q is not in\n%s", want, spec.Files[i].Content)
		}
	}
	for _, task := range []string{strings.Repeat("x", compile.MaxArgument+1), "a\x00b"} {
		if refusal := refusalOf(t, request(t, task), policy); refusal.Field != "task" || refusal.Hint == "" {
			t.Errorf("%+v", refusal)
		}
	}
	p.Model = ""
	if refusal := refusalOf(t, request(t, "x"), policy); refusal.Code != delegation.CodeInvalid || refusal.Field != "model" || !strings.Contains(refusal.Hint, "ROUTE/MODEL") {
		t.Errorf("%+v", refusal)
	}
}
