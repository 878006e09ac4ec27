package approval

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func call(t *testing.T, tool string, arguments map[string]any) Call {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = Canonical(text); err != nil {
		t.Fatal(err)
	}
	return Call{tool, text}
}

func bash(t *testing.T, command string) Call {
	t.Helper()
	return call(t, "Bash", map[string]any{"command": command})
}

// TestJudge: what a policy with every kind of rule says. A command that is more than its words is never approved at once.
func TestJudge(t *testing.T) {
	p := &Policy{
		Allow: []Rule{
			{Tool: "Bash", Words: []string{"go", "test", AnyRest}},
			{Tool: "Bash", Words: []string{"cat", "*"}},
			{Tool: "Bash", Exact: "make a && make b"},
			{Tool: "Write", Under: "/w/src"},
			{Tool: "mcp__files__*"},
			{Tool: "Any"},
		},
		Deny: []Rule{{Tool: "Bash", Words: []string{"go", "test", "-exec", AnyRest}}, {Tool: "mcp__files__delete"}, {Tool: "Any", Argument: "x", Exact: "no"}},
	}
	for command, want := range map[string]Verdict{
		"go test": Allowed, "go  test ./...": Allowed, "go test ./a": Allowed, "go test -exec sh ./a": Denied, "go": Forwarded, "gotest": Forwarded,
		"go test; rm -rf /": Forwarded, "go test $(id)": Forwarded, "go test\nid": Forwarded, "go test `id`": Forwarded, "go test > /etc/x": Forwarded,
		"go test 'a'": Forwarded, "go test é": Forwarded, "cat a": Allowed, "cat a b": Forwarded, "cat": Forwarded, "make a && make b": Allowed,
		"make a && make b ": Forwarded, "go test & id": Forwarded, "go test | sh": Forwarded, "X=1 go test": Forwarded, "": Forwarded,
	} {
		if got := p.Judge(bash(t, command)); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	for name, c := range map[string]struct {
		call Call
		want Verdict
	}{
		"a file":                               {call(t, "Write", map[string]any{"file_path": "/w/src/a"}), Allowed},
		"beside":                               {call(t, "Write", map[string]any{"file_path": "/w/srcs/a"}), Forwarded},
		"out by dots":                          {call(t, "Write", map[string]any{"file_path": "/w/src/../.git/hooks/x"}), Forwarded},
		"relative":                             {call(t, "Write", map[string]any{"file_path": "src/a"}), Forwarded},
		"no path":                              {call(t, "Write", map[string]any{"file_path": 7}), Forwarded},
		"an MCP tool":                          {call(t, "mcp__files__read", map[string]any{}), Allowed},
		"one that is denied":                   {call(t, "mcp__files__delete", map[string]any{}), Denied},
		"another server's":                     {call(t, "mcp__filesx__read", map[string]any{}), Forwarded},
		"denied by argument":                   {call(t, "Any", map[string]any{"x": "no"}), Denied},
		"not denied":                           {call(t, "Any", map[string]any{"x": "yes"}), Allowed},
		"what deny can't read is not approved": {call(t, "Any", map[string]any{"x": []string{"no"}}), Forwarded},
		"another tool":                         {call(t, "bash", map[string]any{"command": "go test"}), Forwarded},
	} {
		if got := p.Judge(c.call); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	p.Otherwise = Refuse
	if got := p.Judge(bash(t, "ls")); got != Denied {
		t.Errorf("the rest: %v", got)
	}
	if got := (&Policy{}).Judge(bash(t, "ls")); got != Forwarded {
		t.Errorf("without a rule: %v", got)
	}
}

func TestVersions(t *testing.T) {
	a, b := &Policy{Allow: []Rule{{Tool: "Bash", Exact: "ls"}}}, &Policy{Allow: []Rule{{Tool: "Bash", Exact: "ls -l"}}}
	same := &Policy{Allow: slices.Clone(a.Allow)}
	if a.Version() == b.Version() || a.Version() != same.Version() {
		t.Errorf("%s, %s and %s", a.Version(), b.Version(), same.Version())
	}
}

// TestRates: a minute's worth at once, then as the minute goes by; and no more than a run's worth.
func TestRates(t *testing.T) {
	p := &Policy{Rates: Rates{CallsPerMinute: 4, Calls: 9, ShellPerMinute: 2, WritesPerMinute: 1}}
	var m Meter
	may := func(c Call, at time.Duration, want bool) {
		t.Helper()
		if why := m.May(p, c, at); (why == "") != want {
			t.Errorf("%s at %v: %q", c.Tool, at, why)
		}
	}
	read, write, shell := Call{Tool: "Read"}, Call{Tool: "Write"}, Call{Tool: "Bash"}
	may(shell, 0, true)
	may(shell, 0, true)
	may(shell, 0, false)
	may(write, 0, true)
	may(write, 0, false)
	may(read, 0, true)
	may(read, 0, false)
	may(read, 15*time.Second, true)
	may(read, 15*time.Second, false)
	may(write, 61*time.Second, true)
	may(read, 10*time.Minute, true)
	may(read, 10*time.Minute, true)
	may(read, 10*time.Minute, true)
	may(read, time.Hour, false) // nine are all
	for range asksPerMinute {
		if !m.MayAsk(0) {
			t.Fatal("a question within the rate was refused")
		}
	}
	if m.MayAsk(0) || !m.MayAsk(time.Second) {
		t.Error("questions have no rate")
	}
}

// TestAgain: what is approved always is the same command, file or address of a tool that is known, and the very same call of another.
func TestAgain(t *testing.T) {
	for name, c := range map[string]struct {
		first, later Call
		want         Verdict
	}{
		"a command":           {bash(t, "ls"), call(t, "Bash", map[string]any{"command": "ls", "description": "again"}), Allowed},
		"another command":     {bash(t, "ls"), bash(t, "ls -l"), Forwarded},
		"a file":              {call(t, "Write", map[string]any{"file_path": "/w/a", "content": "x"}), call(t, "Write", map[string]any{"file_path": "/w/a", "content": "y"}), Allowed},
		"of a server":         {call(t, "mcp__db__run", map[string]any{"url": "u", "query": "select"}), call(t, "mcp__db__run", map[string]any{"query": "select", "url": "u"}), Allowed},
		"of a server, beside": {call(t, "mcp__db__run", map[string]any{"url": "u", "query": "select"}), call(t, "mcp__db__run", map[string]any{"url": "u", "query": "drop"}), Forwarded},
		"another shell": {
			call(t, "command_execution", map[string]any{"command": "ls", "shell": "/bin/sh -c"}), call(t, "command_execution", map[string]any{"command": "ls", "shell": "/usr/bin/python3 -c"}), Forwarded,
		},
		"of a server, with a name that is empty": {
			call(t, "mcp__db__run", map[string]any{"": "x", "sql": "select"}), call(t, "mcp__db__run", map[string]any{"command": "x", "sql": "drop"}), Forwarded,
		},
		"a command that is a list": {call(t, "Bash", map[string]any{"command": []string{"ls"}}), call(t, "Bash", map[string]any{"command": []string{"rm"}}), Forwarded},
	} {
		rule, able := c.first.Again()
		p := &Policy{Allow: []Rule{rule}}
		if got := p.Judge(c.later); !able || got != c.want {
			t.Errorf("%s: %v, %v", name, able, got)
		}
		if p.Judge(c.first) != Allowed {
			t.Errorf("%s: the same call is not approved", name)
		}
	}
	if _, able := (Call{Tool: "Bash"}).Again(); able {
		t.Error("a call that is not known any more")
	}
}
