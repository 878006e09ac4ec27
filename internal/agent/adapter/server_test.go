package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"torno/internal/agent"
	"torno/internal/approval"
)

// decides has each question of an agent's be decided at once: what would never be made is denied.
func decides(k *kind) {
	k.asks.on, k.asks.answer = true, k.server.reply
	k.parser = &decider{parser: k.parser, asks: k.asks}
}

type decider struct {
	parser

	asks *asks
}

func (d *decider) line(text []byte) []agent.Line {
	lines := d.parser.line(text)
	for _, l := range lines {
		if l.Kind == agent.Ask {
			d.asks.decide(decision(l.Ask, l.Tool.Name, string(l.Tool.Input), !strings.Contains(string(l.Tool.Input), "never")))
		}
	}
	return lines
}

// desk is a server's other side: it says what a Codex would, and has what that was told.
type desk struct {
	*testing.T

	s     *server
	heard []string       // what the server was told, each as method, number and text
	acked map[int]string // what became of what the parent said
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, acked: map[int]string{}}
	k := codexServer()
	d.s = k.server
	d.s.reply = d.hear
	d.s.asks.answer = d.hear
	return d
}

func (d *desk) hear(lines []byte) {
	for line := range strings.Lines(string(lines)) {
		var r struct {
			ID     any
			Method string
			Params struct {
				Turn  string `json:"expectedTurnId"`
				Input []struct{ Text string }
			}
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			d.Errorf("%q: %v", line, err)
		}
		said := strings.TrimSpace(fmt.Sprintf("%v %s %s%s", r.ID, r.Method, r.Result, r.Error))
		for _, in := range r.Params.Input {
			said += " " + in.Text
		}
		d.heard = append(d.heard, said)
	}
}

// began is a conversation whose first turn runs.
func (d *desk) began() *desk {
	d.s.open("the task")
	d.says(`{"id":"thread","result":{"thread":{"id":"T"}}}`)
	d.says(`{"id":"turn-1","result":{"turn":{"id":"A"}}}`)
	d.wants("turn-1 turn/start the task")
	return d
}

func (d *desk) says(line string) []agent.Line {
	d.Helper()
	told := read(d.s, []byte(line))
	holds(d.T, []byte(line), told)
	return told
}

func (d *desk) ends(turn, status string) []agent.Line {
	d.Helper()
	return d.says(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":%q,"status":%q}}}`, turn, status))
}

func (d *desk) shows(name string) {
	d.Helper()
	d.says(fmt.Sprintf(`{"method":"item/started","params":{"threadId":"T","item":{"type":"userMessage","clientId":%q}}}`, name))
}

func (d *desk) say(n int, kind agent.InputKind, text string) {
	d.s.say(agent.Input{N: n, Kind: kind, Text: text}, func(err error) {
		if _, twice := d.acked[n]; twice {
			d.Errorf("%d is acknowledged twice", n)
		}
		d.acked[n] = fmt.Sprint(err)
	})
}

// wants checks what the server was told since the last look.
func (d *desk) wants(heard ...string) {
	d.Helper()
	if !slices.Equal(d.heard, heard) {
		d.Errorf("the server was told %q, and not %q", d.heard, heard)
	}
	d.heard = nil
}

func (d *desk) wantsAcked(numbers ...int) {
	d.Helper()
	if got := slices.Sorted(maps.Keys(d.acked)); !slices.Equal(got, numbers) {
		d.Errorf("acknowledged are %v, and not %v", got, numbers)
	}
}

// TestAMessageIsKeptUntilItIsShown: Codex takes it and drops it when the turn is interrupted. It begins the next turn then, once.
func TestAMessageIsKeptUntilItIsShown(t *testing.T) {
	d := newDesk(t).began()
	d.say(1, agent.Message, "one")
	d.wants("say-1 turn/steer one")
	d.wantsAcked()
	d.says(`{"id":"say-1","result":{"turnId":"A"}}`)
	d.wantsAcked(1)
	d.ends("A", "interrupted")
	d.wants("turn-2 turn/start one")
	if !d.s.busy() {
		t.Error("its input would be closed")
	}
	d.says(`{"id":"turn-2","result":{"turn":{"id":"B"}}}`)
	d.shows("torno-1")
	d.ends("B", "completed")
	d.wants()
	if d.s.busy() {
		t.Error("something is left")
	}
}

// TestAMessageThatComesTooLateForATurn begins the next one. What was shown is not told again.
func TestAMessageThatComesTooLateForATurn(t *testing.T) {
	d := newDesk(t).began()
	d.say(1, agent.Message, "one")
	d.say(2, agent.Message, "two")
	d.wants("say-1 turn/steer one", "say-2 turn/steer two")
	d.shows("torno-1")
	d.wantsAcked(1)
	d.says(`{"id":"say-2","error":{"message":"no active turn to steer"}}`)
	d.wantsAcked(1)
	d.ends("A", "completed")
	d.wants("turn-2 turn/start two")
	d.says(`{"id":"turn-2","result":{"turn":{"id":"B"}}}`)
	d.wantsAcked(1, 2)
	d.shows("torno-2")
	d.ends("B", "completed")
	d.say(3, agent.Message, "three")
	d.wants("turn-3 turn/start three")
}

// TestAnInterruptWithAText: the turn's commands are ended too, and the text is the next turn's, whichever answer comes first.
func TestAnInterruptWithAText(t *testing.T) {
	for name, answerFirst := range map[string]bool{"answered first": true, "ended first": false} {
		d := newDesk(t).began()
		d.say(1, agent.Interrupt, "else")
		d.say(2, agent.Message, "behind")
		d.wants("stop-1 turn/interrupt", "clean-1 thread/backgroundTerminals/clean")
		if answerFirst {
			d.says(`{"id":"stop-1","result":{}}`)
			d.ends("A", "interrupted")
		} else {
			d.ends("A", "interrupted")
			d.says(`{"id":"stop-1","result":{}}`)
		}
		d.wants("turn-2 turn/start else")
		d.says(`{"id":"turn-2","result":{"turn":{"id":"B"}}}`)
		d.wants("say-2 turn/steer behind")
		d.wantsAcked(1)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestAnInterruptAlone ends the run: nothing is left to be said.
func TestAnInterruptAlone(t *testing.T) {
	d := newDesk(t).began()
	d.say(1, agent.Interrupt, "")
	d.says(`{"id":"stop-1","result":{}}`)
	d.wantsAcked(1)
	told := d.ends("A", "interrupted")
	if d.s.busy() || !d.s.over || !d.s.failed || told[len(told)-1].Text != "ended as interrupted" {
		t.Errorf("%+v", told)
	}
}

// TestATurnThatDoesNotBegin is a failure, and what it was to begin with is refused.
func TestATurnThatDoesNotBegin(t *testing.T) {
	d := newDesk(t).began()
	d.ends("A", "completed")
	d.say(1, agent.Message, "one")
	told := d.says(`{"id":"turn-2","error":{"message":"no more"}}`)
	if len(told) != 1 || !told[0].Failed || d.acked[1] != "no more" || d.s.busy() {
		t.Errorf("%+v, %v", told, d.acked)
	}
}

// TestAMessageThatIsNeverShown is told a bounded number of times.
func TestAMessageThatIsNeverShown(t *testing.T) {
	d := newDesk(t).began()
	d.say(1, agent.Message, "one")
	turn := "A"
	for n := 2; d.s.busy(); n++ {
		d.ends(turn, "completed")
		if n > 2*maxTries {
			t.Fatal("it goes on for ever")
		}
		turn = fmt.Sprint(n)
		d.says(fmt.Sprintf(`{"id":"turn-%d","result":{"turn":{"id":%q}}}`, n, turn))
	}
}

// TestAServerWithoutAConversation: each way to have none is a result that says why.
func TestAServerWithoutAConversation(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"initialize","error":{"message":"too old"}}`:      "too old",
		`{"id":"thread","error":{"message":"no rollout found"}}`: "no rollout found",
		`{"id":"thread","result":{}}`:                            codexTitle,
	} {
		d := newDesk(t)
		d.s.open("task")
		d.say(1, agent.Message, "one")
		told := d.says(line)
		if len(told) != 1 || told[0].Kind != agent.Result || !told[0].Failed || !strings.Contains(told[0].Text, want) || d.s.busy() {
			t.Errorf("%s: %+v", line, told)
		}
		d.wantsAcked(1)
		d.say(2, agent.Message, "two")
		d.wantsAcked(1, 2)
	}
}

// askingDesk is one whose server was told to ask.
func askingDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.s.asks.on = true
	return d.began()
}

const commandAsk = `{"method":"item/commandExecution/requestApproval","id":%d,"params":{"kind":"command","threadId":"T","turnId":"A","itemId":%q,"command":%q,"cwd":"/w"}}`

// TestNoDirectoryIsNamed to Codex, new or resumed: it would trust what lies there, and a workspace's rules could have commands run unasked.
func TestNoDirectoryIsNamed(t *testing.T) {
	for method, earlier := range map[string]string{"thread/start": "", "thread/resume": "0.168.0"} {
		d := newDesk(t)
		d.s.asks.on = true
		d.s.session = session{id: "T", earlier: earlier}
		opening := string(d.s.open("task"))
		if !strings.Contains(opening, method) || !strings.Contains(opening, `"approvalPolicy":"untrusted"`) || strings.Contains(opening, `"cwd"`) {
			t.Errorf("it is opened with %s", opening)
		}
	}
}

// TestWhatCodexAsks: what its shell is told is what rules see, where that can be told from the shell, and otherwise the whole.
func TestWhatCodexAsks(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'touch a'`:               `{"command":"touch a","cwd":"/w","shell":"/bin/bash -lc"}`,
		`/bin/bash -lc "echo \"it's\" \$x <&2"`: `{"command":"echo \"it's\" $x <&2","cwd":"/w","shell":"/bin/bash -lc"}`,
		`/bin/bash -lc touch`:                   `{"command":"touch","cwd":"/w","shell":"/bin/bash -lc"}`,
		`/bin/bash -lc 'a' 'b'`:                 `{"command":"/bin/bash -lc 'a' 'b'","cwd":"/w"}`,
		`/bin/bash -lc 'a`:                      `{"command":"/bin/bash -lc 'a","cwd":"/w"}`,
		`/bin/bash -lc "$(id)"`:                 `{"command":"/bin/bash -lc \"$(id)\"","cwd":"/w"}`,
		`/bin/bash -lc a;id`:                    `{"command":"/bin/bash -lc a;id","cwd":"/w"}`,
		`bash -lc 'a'`:                          `{"command":"bash -lc 'a'","cwd":"/w"}`,
		`/usr/bin/python3 -c 'a'`:               `{"command":"/usr/bin/python3 -c 'a'","cwd":"/w"}`,
		`/w/bin/bash -lc ls`:                    `{"command":"/w/bin/bash -lc ls","cwd":"/w"}`,
		`/bin/ls -l /`:                          `{"command":"/bin/ls -l /","cwd":"/w"}`,
	} {
		d := askingDesk(t)
		told := d.says(fmt.Sprintf(commandAsk, 0, "call_1", command))
		if len(told) != 1 || told[0].Kind != agent.Ask || told[0].Ask != "0" || string(told[0].Tool.Input) != want {
			t.Errorf("%s: %+v", command, told)
		}
	}
}

// TestCodexIsAnswered once, by its own name of the question: a grant, or a denial of which the model is told the reason.
func TestCodexIsAnswered(t *testing.T) {
	d := askingDesk(t)
	d.says(fmt.Sprintf(commandAsk, 7, "call_1", "/bin/sh -c 'touch a'"))
	d.says(fmt.Sprintf(commandAsk, 8, "call_2", "/bin/sh -c 'touch b'"))
	arguments := func(name string) string { return `{"command":"touch ` + name + `","cwd":"/w","shell":"/bin/sh -c"}` }
	grant := decision("7", "command_execution", arguments("a"), true)
	if l := d.s.asks.decide(grant); l.Failed {
		t.Errorf("%+v", l)
	}
	d.wants(`7  {"decision":"accept"}`)
	if l := d.s.asks.decide(grant); !l.Failed {
		t.Errorf("once more: %+v", l)
	}
	d.s.asks.decide(decision("8", "command_execution", arguments("b"), false))
	d.wants(`8  {"decision":"decline"}`, "why-8 turn/steer What you have just asked for was denied: not here")
}

// TestAnotherCallOfCodex than the one that was decided about is denied.
func TestAnotherCallOfCodex(t *testing.T) {
	d := askingDesk(t)
	d.says(fmt.Sprintf(commandAsk, 0, "call_1", "/bin/sh -c 'rm -rf .'"))
	if l := d.s.asks.decide(decision("0", "command_execution", `{"command":"ls","cwd":"/w","shell":"/bin/sh -c"}`, true)); !l.Failed {
		t.Errorf("%+v", l)
	}
	if len(d.heard) != 2 || d.heard[0] != `0  {"decision":"decline"}` {
		t.Errorf("told %q", d.heard)
	}
}

// TestWhatCodexDidIsCompared with what was approved, as far as it tells that.
func TestWhatCodexDidIsCompared(t *testing.T) {
	const did = `{"method":"item/completed","params":{"threadId":"T","turnId":"A","item":{"type":"commandExecution","id":"call_1","command":%q,"status":"completed"}}}`
	grants := func(d *desk) {
		d.says(fmt.Sprintf(commandAsk, 0, "call_1", "/bin/sh -c 'touch a'"))
		d.s.asks.decide(decision("0", "command_execution", `{"command":"touch a","cwd":"/w","shell":"/bin/sh -c"}`, true))
	}
	for name, c := range map[string]struct {
		before func(*desk)
		did    string
		notice string
	}{
		"the same":   {grants, "/bin/sh -c 'touch a'", ""},
		"another":    {grants, "/bin/sh -c 'touch b'", "call_1 differs from the approved call"},
		"a unasked":  {func(*desk) {}, "/bin/sh -c 'touch a'", "call_1 was done without a question"},
		"not asking": {func(d *desk) { d.s.asks.on = false }, "/bin/sh -c 'touch a'", ""},
	} {
		d := askingDesk(t)
		c.before(d)
		said := ""
		for _, l := range d.says(fmt.Sprintf(did, c.did)) {
			if l.Kind == agent.Notice {
				said = l.Text
			}
		}
		if said != c.notice {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestAChangeOfFilesIsAsked with what its step has told before; of one file its path is what rules see.
func TestAChangeOfFilesIsAsked(t *testing.T) {
	d := askingDesk(t)
	d.says(`{"method":"item/started","params":{"threadId":"T","turnId":"A","item":{"type":"fileChange","id":"c","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]}}}`)
	ask := `{"method":"item/fileChange/requestApproval","id":1,"params":{"threadId":"T","turnId":"A","itemId":"c","reason":null,"grantRoot":null}}`
	told := d.says(ask)
	if len(told) != 1 || string(told[0].Tool.Input) != `{"changes":[{"diff":"x\n","kind":"add","path":"/w/a"}],"file_path":"/w/a"}` {
		t.Fatalf("%+v", told)
	}
	c := approval.Call{Tool: told[0].Tool.Name, Arguments: told[0].Tool.Input}
	p := approval.Policy{Allow: []approval.Rule{{Tool: "file_change", Under: "/w"}}}
	if p.Judge(c) != approval.Allowed {
		t.Error("a rule about its path does not fit")
	}
	d.says(strings.Replace(ask, `"id":1`, `"id":2`, 1)) // the same again has a name of its own
	for _, l := range d.says(strings.Replace(strings.Replace(ask, `"c"`, `"other"`, 1), `"id":1`, `"id":3`, 1)) {
		if l.Kind == agent.Ask {
			t.Error("changes that it did not tell are asked")
		}
	}
}

// TestWhatNobodyDecidesOfCodex is denied at once, and the server does not wait.
func TestWhatNobodyDecidesOfCodex(t *testing.T) {
	for name, line := range map[string]string{
		"input for a command": strings.Replace(fmt.Sprintf(commandAsk, 0, "c", "a"), `"kind":"command"`, `"kind":"writeStdin"`, 1),
		"the network":         strings.Replace(fmt.Sprintf(commandAsk, 0, "c", "a"), `"kind":"command"`, `"networkApprovalContext":{"host":"h","protocol":"https"}`, 1),
		"no command":          fmt.Sprintf(commandAsk, 0, "c", ""),
		"permissions":         `{"id":0,"method":"item/permissions/requestApproval","params":{}}`,
		"a person":            `{"id":0,"method":"item/tool/requestUserInput","params":{}}`,
		"a form":              `{"id":0,"method":"mcpServer/elicitation/request","params":{"serverName":"t","mode":"form","message":"Name?"}}`,
		"something new":       `{"id":0,"method":"item/new/thing"}`,
	} {
		d := askingDesk(t)
		for _, l := range d.says(line) {
			if l.Kind == agent.Ask {
				t.Errorf("%s: it is asked", name)
			}
		}
		if len(d.heard) == 0 || !strings.HasPrefix(d.heard[0], "0 ") || strings.Contains(d.heard[0], "accept") {
			t.Errorf("%s: the server was told %q", name, d.heard)
		}
	}
	d := newDesk(t).began()
	if told := d.says(fmt.Sprintf(commandAsk, 0, "c", "a")); len(told) != 0 {
		t.Errorf("one that was not told to ask: %+v", told)
	}
	d.wants(`0  {"code":-32601,"message":"this client does not take such requests"}`)
}

// TestAToolOfAServerIsAsked: Codex asks about it in the words of MCP.
func TestAToolOfAServerIsAsked(t *testing.T) {
	d := askingDesk(t)
	told := d.says(`{"id":"e","method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"A","serverName":"t","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"plain","tool_params":{"b":1,"a":2}}}}`)
	if len(told) != 1 || told[0].Tool.Name != "mcp__t__plain" || string(told[0].Tool.Input) != `{"a":2,"b":1}` {
		t.Fatalf("%+v", told)
	}
	d.s.asks.decide(decision(told[0].Ask, "mcp__t__plain", `{"a":2,"b":1}`, true))
	d.wants(`e  {"action":"accept","content":{}}`)
}

// TestAnInterruptTakesItsQuestionsBack: the server says that they are settled.
func TestAnInterruptTakesItsQuestionsBack(t *testing.T) {
	d := askingDesk(t)
	d.says(fmt.Sprintf(commandAsk, 3, "c", "a"))
	told := d.says(`{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":3}}`)
	if len(told) != 1 || told[0].Kind != agent.AskGone || told[0].Ask != "3" {
		t.Errorf("%+v", told)
	}
}

// TestWhoseAgentItIs: what an agent does that Codex has started stands below the call that did, and its end is not the run's.
func TestWhoseAgentItIs(t *testing.T) {
	d := newDesk(t).began()
	d.says(`{"method":"item/started","params":{"threadId":"T","turnId":"A","item":{"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","receiverThreadIds":["U"]}}}`)
	told := d.says(`{"method":"item/completed","params":{"threadId":"U","turnId":"B","item":{"type":"agentMessage","text":"from below"}}}`)
	if len(told) != 1 || told[0].Parent != "c" {
		t.Errorf("%+v", told)
	}
	if told := d.says(`{"method":"turn/completed","params":{"threadId":"U","turn":{"id":"B","status":"completed"}}}`); len(told) != 0 || !d.s.busy() {
		t.Errorf("%+v", told)
	}
	told = d.ends("A", "completed")
	if last := told[len(told)-1]; last.Text != "" || last.Failed {
		t.Errorf("the answer is %+v", last)
	}
}
