package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/manager/agentfile"
	"torno/manager/mcp"
	"torno/manager/mcp/jarvis"
)

const agentsOfTests = "jarvis/testdata/project"

// withAgents is the set over a project.
func withAgents(t *testing.T, project string) mcp.Options {
	t.Helper()
	set, _, err := jarvis.Open(jarvis.Options{Project: project, Outbox: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Options{Set: jarvis.Name, Sets: []mcp.Set{set}}
}

func jarvisTools(t *testing.T) *mcp.Toolbox {
	b := mcp.NewToolbox(t, withAgents(t, agentsOfTests))
	b.Host("beat", "offers", "agent_settings", "sessions")
	return b
}

func TestTranscriptsOfJarvis(t *testing.T) {
	mcp.Transcripts(t, "jarvis/testdata", withAgents(t, agentsOfTests))
}

const hello = `{"agent_name":"free","prompt":"Say hello."}`

// TestACallThatWasCutOffIsWaitedOn by the same call, and the agent runs once.
func TestACallThatWasCutOffIsWaitedOn(t *testing.T) {
	b := jarvisTools(t)
	b.Begin("a", "run_subagent", hello)
	id := b.Until(1)[0]
	b.Cancel("a")
	b.Host("ends", id, "completed", "exited", "0", "hello")
	if text := wantSaid(t, b, "run_subagent", hello, `{"agent":"free","result":"hello"`); strings.Contains(text, "Note") {
		t.Errorf("it says %s", text)
	}
	if ids := b.Until(1); ids[0] != id {
		t.Errorf("the outbox has %q", ids)
	}
	b.Host("will", "ends", "completed", "exited", "0", "again")
	wantSaid(t, b, "run_subagent", hello, `"result":"again"`)
	b.Until(2)
}

// TestTheSameCallTwiceAtOnceIsTwoRuns: only a call that was cut off is waited on.
func TestTheSameCallTwiceAtOnceIsTwoRuns(t *testing.T) {
	b := jarvisTools(t)
	b.Begin("a", "run_subagent", hello)
	b.Until(1)
	b.Begin("b", "run_subagent", hello)
	for _, id := range b.Until(2) {
		b.Host("ends", id, "completed", "exited", "0", "hello")
		b.Answer()
	}
}

const green = `{"agent_name":"researcher","prompt":"Is it green?"}`

// TestAnAgentHasOneConversationAtATime, also where two servers have its parent's calls, and where the call is gone that has begun it.
func TestAnAgentHasOneConversationAtATime(t *testing.T) {
	first := jarvisTools(t)
	second := first.Another(withAgents(t, agentsOfTests))
	first.Begin("a", "run_subagent", green)
	first.Until(1)
	busy := `Subagent "researcher" failed (cli_error): Subagent "researcher" is in a conversation already`
	wantSaid(t, second, "run_subagent", green, busy)
	first.Cancel("a")
	wantSaid(t, second, "run_subagent", green, busy)
	first.Host("keeps", "researcher", "s1", "coder", "yes")
	wantSaid(t, first, "run_subagent", green, `"result":"yes"`)
	first.Call("run_subagent", `{"agent_name":"nobody","prompt":"x"}`) // which shows that it has the answer
	first.Leave()
	second.Host("will", "keeps", "s1", "coder", "still")
	wantSaid(t, second, "run_subagent", green, `"result":"still"`)
}

// TestAConversationIsHeld by the call that is in it: another server's call that begins at the same moment begins nothing.
func TestAConversationIsHeld(t *testing.T) {
	b := jarvisTools(t)
	held, err := agentfile.Hold(b.Own("conversations"), &agentfile.Agent{Name: "researcher"})
	if err != nil {
		t.Fatal(err)
	}
	wantSaid(t, b, "run_subagent", green, "is in a conversation already")
	b.Until(0)
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	b.Host("will", "keeps", "s1", "coder", "yes")
	wantSaid(t, b, "run_subagent", green, `"result":"yes"`)
}

// TestAnAnswerThatNoCallHasBrought is not lost when its server is: the next call brings it, and the one after that is done.
func TestAnAnswerThatNoCallHasBrought(t *testing.T) {
	b := jarvisTools(t)
	b.Host("spawns", "researcher")
	b.Host("keeps", "researcher", "s1", "coder", "an answer to somebody")
	wantSaid(t, b, "run_subagent", green, "an earlier call was cut off", "  | x", "That run completed. Call again now", "  | an answer to somebody")
	b.Host("will", "keeps", "s1", "coder", "yes")
	wantSaid(t, b, "run_subagent", green, `"result":"yes"`)
}

// TestAnotherRunInItsPlaceIsSaid, and ends the wait for good.
func TestAnotherRunInItsPlaceIsSaid(t *testing.T) {
	b := jarvisTools(t)
	b.Begin("a", "run_subagent", green)
	b.Until(1)
	b.Host("withdraws", "researcher")
	if text, failed := b.Answer(); !failed || !strings.Contains(text, `Subagent "researcher" failed (cli_error): `) || strings.Contains(text, "The same call again") {
		t.Errorf("it says %s", text)
	}
	b.Host("will", "keeps", "s1", "coder", "yes")
	wantSaid(t, b, "run_subagent", green, `"result":"yes"`)
}

// TestAnAgentIsWhatItsFileWas when the server began, whatever stands there now.
func TestAnAgentIsWhatItsFileWas(t *testing.T) {
	project := t.TempDir()
	if err := os.CopyFS(project, os.DirFS(agentsOfTests)); err != nil {
		t.Fatal(err)
	}
	b := mcp.NewToolbox(t, withAgents(t, project))
	b.Host("beat", "offers", "agent_settings")
	file := filepath.Join(project, "agents/reviewer/agent.md")
	changed := "---\nname: reviewer\ndescription: x\npermissions: {allow: [Bash]}\n---\nYou obey.\n"
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Begin("a", "run_subagent", `{"agent_name":"reviewer","prompt":"x"}`)
	id := b.Until(1)[0]
	request, err := os.ReadFile(b.Path("request_" + id + ".json"))
	if err != nil || strings.Contains(string(request), "You obey") || !strings.Contains(string(request), "You review changes.") {
		t.Errorf("the request is %s, %v", request, err)
	}
	b.Host("ends", id, "completed", "exited", "0", "done")
	b.Answer()
}

// TestAStrangersTextStaysInItsPlaceInJarvis: in the result, in the detail of an error, and behind bars.
func TestAStrangersTextStaysInItsPlaceInJarvis(t *testing.T) {
	b := jarvisTools(t)
	said, err := json.Marshal(map[string]any{"words": 3, "about": mcp.Lie})
	if err != nil {
		t.Fatal(err)
	}
	misnamed, err := json.Marshal(map[string]any{"words": 3, mcp.Lie: 1})
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) string {
		escaped, _ := json.Marshal(text) // a text has a form in JSON
		return strings.Trim(string(escaped), `"`)
	}
	for _, test := range []struct {
		agent string
		host  [][]string
	}{
		{"free", [][]string{{"keeps", "s", "coder", quoted(mcp.Lie)}}},
		{"free", [][]string{{"ends", "timeout", "deadline", "-1", quoted(mcp.Lie)}}},
		{"free", [][]string{{"ends", "error", "exited", "1", "", quoted(mcp.Lie)}}},
		{"counter", [][]string{{"keeps", "s", "coder", quoted(string(said))}}},
		{"lister", [][]string{{"keeps", "s", "coder", quoted(string(misnamed))}}},
		{"counter", [][]string{{"keeps", "s", "coder", quoted(string(misnamed))}, {"keeps", "s", "coder", quoted(string(misnamed))}}},
	} {
		for _, act := range test.host {
			b.Host("will", act...)
		}
		text, _ := b.Call("run_subagent", `{"agent_name":"`+test.agent+`","prompt":"Lie."}`)
		mcp.WantQuoted(t, text)
	}
}

// TestAnswersInJSONAreBounded: what does not fit is a text that says so.
func TestAnswersInJSONAreBounded(t *testing.T) {
	b := jarvisTools(t)
	long, err := json.Marshal(map[string]any{"words": 3, "about": strings.Repeat("<|im_end|>", 5_000)})
	if err != nil {
		t.Fatal(err)
	}
	b.Host("will", "keeps", "s", "coder", strings.ReplaceAll(string(long), `"`, `\"`))
	text := wantSaid(t, b, "run_subagent", `{"agent_name":"counter","prompt":"Say much."}`, "too long to be shown as JSON: result has the first ", "/answer has all that the agent said")
	if len(text) > 40_000 {
		t.Errorf("it has %d bytes", len(text))
	}
}
