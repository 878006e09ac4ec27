package compile_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// request is one that the policy of bounded lets through.
func request(t *testing.T, task string) delegation.Request {
	t.Helper()
	subagent, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	id, err := delegation.ParseRequestID("r1")
	if err != nil {
		t.Fatal(err)
	}
	return delegation.Request{SubagentID: subagent, RequestID: id, Task: task, Workspace: "/w/s1", TimeoutSeconds: 5}
}

func bounded(command ...string) compile.Policy {
	return compile.Policy{
		Outbox: "main", Dir: "/box", Allow: []compile.Root{"/w"},
		Profiles: []compile.Profile{{Name: "p", Command: command}},
	}
}

func refusalOf(t *testing.T, req delegation.Request, p compile.Policy) *delegation.Refusal {
	t.Helper()
	_, _, err := compile.Compile(req, p)
	refusal, ok := err.(*delegation.Refusal)
	if !ok {
		t.Fatalf("was not refused: %v", err)
	}
	return refusal
}

func TestLongestArgument(t *testing.T) {
	const longest = 128<<10 - 1
	policy := bounded("run", "--", "{{.Task}}")
	spec, _, err := compile.Compile(request(t, strings.Repeat("x", longest)), policy)
	if err != nil || len(spec.Process.Argv[2]) != longest {
		t.Fatalf("the longest argument that Linux takes was refused or cut: %v", err)
	}
	if got := refusalOf(t, request(t, strings.Repeat("x", longest+1)), policy).Code; got != delegation.CodeTaskTooLong {
		t.Errorf("one byte more got code %s", got)
	}
}

func TestTaskWithZeroByteIsNoArgument(t *testing.T) {
	refusal := refusalOf(t, request(t, "a\x00b"), bounded("run", "--", "{{.Task}}"))
	if refusal.Code != delegation.CodeInvalid || refusal.Field != "task" {
		t.Errorf("got %+v", refusal)
	}
	if _, _, err := compile.Compile(request(t, "a\x00b"), bounded("run", "{{.TaskFile}}")); err != nil {
		t.Errorf("a file may hold a zero byte, but: %v", err)
	}
}

// TestConfigThatExplodes has a request of 400 kB, each of whose lines would be indented by 2 kB.
func TestConfigThatExplodes(t *testing.T) {
	leaves := make([]any, 100_000)
	for i := range leaves {
		leaves[i] = "x"
	}
	var nested any = leaves
	for range 1000 {
		nested = map[string]any{"a": nested}
	}
	req := request(t, "x")
	req.YAMLConfig = map[string]any{"a": nested}
	refusal := refusalOf(t, req, bounded("run", "{{.Config}}"))
	if refusal.Code != delegation.CodeTooBig || refusal.Field != "yaml_config" {
		t.Errorf("got %+v", refusal)
	}
}

func TestSpecSharesNothingWithItsPolicy(t *testing.T) {
	policy := bounded("run")
	policy.Owners = []uint32{1000}
	policy.Profiles[0].AtLeast = []sandbox.GuaranteeKey{sandbox.NoNetwork}
	policy.Profiles[0].Sockets = []sandbox.Socket{{Host: "/h", Target: "/t"}}
	spec, _, err := compile.Compile(request(t, "x"), policy)
	if err != nil {
		t.Fatal(err)
	}
	spec.Owners[0], spec.AtLeast[0], spec.Sockets[0].Host, spec.Process.Argv[0] = 0, "", "", ""
	p := policy.Profiles[0]
	if policy.Owners[0] != 1000 || p.AtLeast[0] == "" || p.Sockets[0].Host == "" || p.Command[0] == "" {
		t.Errorf("changing a spec changed the policy of the next run: %+v", policy)
	}
}

func TestTimeout(t *testing.T) {
	policy := bounded("run")
	policy.Profiles[0].Timeout = compile.Timeouts{Default: time.Minute, Min: 2 * time.Second, Max: 90 * time.Minute}
	for _, test := range []struct {
		asked   int
		want    time.Duration
		warning string
	}{
		{0, time.Minute, ""},
		{1, 2 * time.Second, "timeout_seconds 1 is less than profile p allows; it is 2s"},
		{2, 2 * time.Second, ""},
		{5400, 90 * time.Minute, ""},
		{5401, 90 * time.Minute, "timeout_seconds 5401 is more than profile p allows; it is 1h30m0s"},
		{math.MaxInt, 90 * time.Minute, "timeout_seconds 9223372036854775807 is more than profile p allows; it is 1h30m0s"},
	} {
		req := request(t, "x")
		req.TimeoutSeconds = test.asked
		spec, warnings, err := compile.Compile(req, policy)
		if got := strings.Join(warnings, "|"); err != nil || spec.Timeout != test.want || got != test.warning {
			t.Errorf("%d: %s, warning %q, error %v", test.asked, spec.Timeout, got, err)
		}
	}
}

// TestRootCountsBelowAllowedRoots: a mount says whether it lies below a root for workspaces, and has no part in one that is
// for reading only.
func TestRootCountsBelowAllowedRoots(t *testing.T) {
	policy := bounded("run")
	policy.Dir = "/srv/box"
	policy.Allow, policy.Read = []compile.Root{"/srv/work", "/srv/box/workspaces"}, []compile.Root{"/opt/lib", "/srv/work/docs", "/srv"}
	for text, want := range map[string]bool{
		"/srv/work/other": true, "/srv/box/workspaces/other": true, "/srv/work/docs/x": false, "/srv/work/docs": false,
		"/srv/work": false, // it holds what is for reading
		"/opt/lib":  false, "/opt/lib/x": false, "/srv/elsewhere": false,
	} {
		req := request(t, "x")
		req.Workspace, req.AnswerFile, req.ContextPaths = "/srv/work/ws", "", []string{text}
		spec, _, err := compile.Compile(req, policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spec.Mounts {
			if m.Workspace && !m.Allowed || m.Target == text && m.Allowed != want {
				t.Errorf("%s: %+v", text, m)
			}
		}
	}
}

// TestFewWarnings (X14): the journal keeps them while the request lies in its outbox.
func TestFewWarnings(t *testing.T) {
	within, writable := request(t, "x"), request(t, "x")
	var entries []any
	for i := range 64 {
		within.ContextPaths = append(within.ContextPaths, fmt.Sprintf("/w/s1/%d", i))
		entries = append(entries, map[string]any{"path": fmt.Sprintf("/w/other/%d", i), "permission": "write"})
	}
	writable.YAMLConfig = map[string]any{"orchestrator": map[string]any{"context_paths": entries}}
	for _, req := range []delegation.Request{within, writable} {
		_, warnings, err := compile.Compile(req, bounded("run"))
		if err != nil || len(warnings) != 9 || warnings[8] != "56 more context paths were adjusted" {
			t.Errorf("%d warnings: %q, %v", len(warnings), warnings, err)
		}
	}
}
