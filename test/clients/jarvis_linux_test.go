package clients

import (
	_ "embed"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"torno/test/house"
	"torno/test/upstream/standin"
)

//go:embed testdata/agents.txtar
var agentFiles []byte

// TestAnAgentRunsTheAgentsOfAProject: Claude Code has the tool of Jarvis, and runs agents that files describe, each a Claude Code in a sandbox
// that has its file's system prompt, rules, server, conversation and schema.
func TestAnAgentRunsTheAgentsOfAProject(t *testing.T) {
	house.Need(t, house.GVisor)
	up := standin.New(upstreamKey)
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	h, installed := agentsHouse(t, server.URL)
	home := t.TempDir()
	p := parent{House: h, toolUser: toolUsers(home, server.URL)[0], installed: installed, home: home, work: h.Mkdir(filepath.Join(h.Dir, "work"))}
	p.run[2] = "--allowedTools=mcp__jarvis"
	project := projectOf(t, agentFiles)
	p.do("claude", "mcp", "add", "jarvis", "--", "subagent", "mcp", "--tools", "jarvis", "--outbox", p.Outbox, "--project", project)
	run := func(agent, prompt string) string {
		return `#tool mcp__jarvis__run_subagent ` + inJSON(map[string]string{"agent_name": agent, "prompt": prompt})
	}
	said := p.do(append(p.run, strings.Join([]string{
		"#steps",
		run("maker", "#steps\n#tool Bash {\"command\":\"touch made.txt\",\"description\":\"d\"}\n#tool Bash {\"command\":\"touch denied.txt\",\"description\":\"d\"}\n#tool Write {\"file_path\":\"/workspace/w.txt\",\"content\":\"x\"}\nmade"),
		run("noter", "#steps\n#tool mcp__notes__add {}\nnoted"),
		run("counter", "#answers\nthree\n{\"words\": 3}"),
		run("counter", "#answers\nthree\nfour"),
		run("researcher", "the blue one"),
		run("researcher", "and the green one"),
		run("tester", "#steps\n#tool Bash {\"command\":\"touch tested.txt\",\"description\":\"d\"}\ntested"),
		"all is done",
	}, "\n"))...)
	if !strings.Contains(said, "all is done") {
		t.Errorf("the parent said %s", said)
	}
	p.lastRead(up,
		`{\"agent\":\"maker\",\"result\":\"You said: made\",\"duration_ms\":`, `\"result\":\"You said: noted\"`,
		`\"result\":{\"words\":3}`, "so it was asked a second time", `\"error\":\"output_schema\",\"reason\":\"not_json\"`, `\"attempts\":2`, `Subagent \"counter\" failed (parse_error)`,
		"You said: the blue one", "You said: and the green one", "You said: tested",
	)
	for name, want := range map[string]bool{"maker_*/made.txt": true, "maker_*/denied.txt": false, "maker_*/w.txt": false, "tester_*/tested.txt": false} {
		if found, err := filepath.Glob(p.Path("workspaces/" + name)); err != nil || len(found) > 0 != want {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	asked(t, up, "You make things.", `"name":"Bash","description"`, `not: "name":"Write","description"`, "made")
	asked(t, up, "You take notes.", "it is noted")
	asked(t, up, "You find things out.", "the blue one", "and the green one")
	asked(t, up, "You run tests.", `not: "name":"Bash","description"`, `"name":"Grep","description"`)
}

// asked looks for the last request of a child's model that has these words, the first of which is its system prompt.
func asked(t *testing.T, up *standin.Upstream, words ...string) {
	t.Helper()
	last := ""
	for _, one := range up.Seen() {
		if body := string(one.Body); strings.Contains(body, words[0]) {
			last = body
		}
	}
	for _, word := range words {
		unwanted, not := strings.CutPrefix(word, "not: ")
		if strings.Contains(last, unwanted) == not {
			t.Errorf("want %q in what the agent of %q was asked:\n%.3000s", word, words[0], last)
		}
	}
}

// projectOf writes a project's files.
func projectOf(t *testing.T, archive []byte) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse(archive).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
