package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/house"
)

// TestMassGensOwnPlaces: where the host takes workspaces from the parent's directory, a child works in it at MassGen's place and at its own path, reads
// the parent's files and can change none, and what it leaves is a result. The child is a shell, which finds its script before the prompt.
func TestMassGensOwnPlaces(t *testing.T) {
	house.Need(t, house.GVisor)
	work := filepath.Join(t.TempDir(), "parent")
	h := house.New(t, house.Plan{Sandbox: house.GVisor, Allow: []string{work}, Dirs: []string{work}})
	p := parent{House: h, work: work}
	p.write("CONTEXT.md", "We count.")
	p.write("data/a.txt", "three")
	script := `pwd; cat CONTEXT.md data/a.txt; (echo x >` + work + `/CONTEXT.md) 2>/dev/null && echo CHANGED; echo made >made.txt; exit 0`
	said := p.asks("spawn_subagents", `{"background":true,"tasks":[{"task":"x","subagent_id":"a","context_files":["data"],"system_prompt":`+inJSON(script)+`}]}`)
	if !strings.Contains(said, `\"workspace\":\"`+work+`/subagents/a/workspace\"`) {
		t.Fatalf("the server said %s", said)
	}
	p.Eventually("the child has ended", func() bool { return p.Exists("response_a.json") })
	said = p.asks("custom_tool__get_background_tool_result", `{"job_id":"a"}`)
	for _, want := range []string{`\"status\":\"completed\"`, work + `/subagents/a/workspace\\nWe count.three`} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if strings.Contains(said, "CHANGED") || p.Read(filepath.Join(work, "CONTEXT.md")) != "We count." {
		t.Error("the child has changed a file of its parent's")
	}
	if text := p.Read(filepath.Join(work, "subagents/a/workspace/made.txt")); text != "made\n" {
		t.Errorf("it has made %q", text)
	}
}

// asks calls one tool of MassGen's, of a server that begins with it and ends behind it.
func (p parent) asks(tool, arguments string) string {
	p.Helper()
	server := exec.CommandContext(p.Context(), house.Program("subagent"), "mcp", "--tools", "massgen", "--outbox", p.Outbox, "--", "--workspace-path", p.work, "--profile", "sh")
	server.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}
`)
	said, err := server.Output()
	p.Must(err)
	return string(said)
}
