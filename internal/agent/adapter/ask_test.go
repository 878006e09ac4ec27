package adapter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"torno/internal/agent"
	"torno/internal/approval"
)

// stand is an adapter's Claude Code that asks, and what it was answered.
type stand struct {
	*testing.T

	c        *claude
	answered []string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, c: &claude{}}
	s.c.asks.on = true
	s.c.asks.answer = func(line []byte) { s.answered = append(s.answered, string(line)) }
	return s
}

func asksFor(id, tool, input string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":%q,"tool_use_id":"toolu_1","input":%s}}`, id, tool, input)
}

// says has the agent print a line.
func (s *stand) says(line string) []agent.Line {
	s.Helper()
	told := read(s.c, []byte(line))
	holds(s.T, []byte(line), told)
	return told
}

// wantAnswered checks the only answer since the last look: it has each of these.
func (s *stand) wantAnswered(parts ...string) {
	s.Helper()
	all := strings.Join(s.answered, "")
	s.answered = nil
	if strings.Count(all, "\n") != 1 || !json.Valid([]byte(all)) {
		s.Errorf("answered %q", all)
	}
	for _, part := range parts {
		if !strings.Contains(all, part) {
			s.Errorf("%s lacks %s", all, part)
		}
	}
}

// decision is about a call, as the host makes it.
func decision(id, tool, canonical string, allow bool) agent.Decision {
	bound := approval.Binding{Run: "run", Policy: "policy"}
	return agent.Decision{
		Ask: id, Allow: allow, Why: "not here", Run: bound.Run, Policy: bound.Policy, Digest: approval.Call{Tool: tool, Arguments: []byte(canonical)}.Digest(bound),
	}
}

// TestWhatWasApprovedIsWhatRuns: the canonical arguments go back, and nothing else of what was asked. A second decision comes too late.
func TestWhatWasApprovedIsWhatRuns(t *testing.T) {
	s := newStand(t)
	told := s.says(asksFor("q", "Bash", `{"description":"<d>","command":"touch \u0061"}`))
	if len(told) != 1 || told[0].Kind != agent.Ask || told[0].Ask != "q" || string(told[0].Tool.Input) != `{"command":"touch a","description":"<d>"}` {
		t.Fatalf("%+v", told)
	}
	d := decision("q", "Bash", `{"command":"touch a","description":"<d>"}`, true)
	if l := s.c.asks.decide(d); l.Failed || l.Kind != agent.AskTaken {
		t.Errorf("%+v", l)
	}
	s.wantAnswered(`"behavior":"allow","updatedInput":{"command":"touch a","description":"<d>"}`, `"request_id":"q"`)
	if l := s.c.asks.decide(d); !l.Failed || len(s.answered) != 0 {
		t.Errorf("once more: %+v, %q", l, s.answered)
	}
}

// TestADecisionAboutAnotherCall: an approval that was given for other arguments, another tool or another run denies the call that waits.
func TestADecisionAboutAnotherCall(t *testing.T) {
	right := decision("q", "Bash", `{"command":"rm -rf ."}`, true)
	foreign := right
	foreign.Run = "another"
	for name, d := range map[string]agent.Decision{
		"other arguments": decision("q", "Bash", `{"command":"ls"}`, true), "another tool": decision("q", "Read", `{"command":"rm -rf ."}`, true), "another run": foreign,
		"no digest": {Ask: "q", Allow: true},
	} {
		s := newStand(t)
		s.says(asksFor("q", "Bash", `{"command":"rm -rf ."}`))
		if l := s.c.asks.decide(d); !l.Failed {
			t.Errorf("%s: %+v", name, l)
		}
		s.wantAnswered(`"behavior":"deny"`)
	}
	s := newStand(t)
	s.says(asksFor("q", "Bash", `{"command":"rm -rf ."}`))
	s.c.asks.decide(right)
	s.wantAnswered(`"behavior":"allow"`) // so it was the difference that counted
}

func TestADenial(t *testing.T) {
	s := newStand(t)
	s.says(asksFor("q", "Bash", `{}`))
	if l := s.c.asks.decide(decision("q", "Bash", `{}`, false)); l.Failed {
		t.Errorf("%+v", l)
	}
	s.wantAnswered(`"behavior":"deny","message":"not here"`)
}

// TestQuestionsThatNobodyCanDecide: they are denied at once, and the agent does not wait.
func TestQuestionsThatNobodyCanDecide(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a member twice":  {asksFor("q", "Bash", `{"a":1,"a":2}`), "twice"},
		"too long":        {asksFor("q", "Write", `{"content":"`+strings.Repeat("x", approval.MaxArguments)+`"}`), "bytes"},
		"no arguments":    {asksFor("q", "Bash", `null`), "not an object"},
		"a person":        {strings.Replace(asksFor("q", "AskUserQuestion", `{}`), `"input"`, `"requires_user_interaction":true,"input"`, 1), "no user is there"},
		"a long name":     {asksFor("q", strings.Repeat("x", 300), `{}`), "name is too long"},
		"something else":  {`{"type":"control_request","request_id":"q","request":{"subtype":"elicitation"}}`, `"subtype":"error"`},
		"hardly anything": {`{"type":"control_request","request_id":"q"}`, `"subtype":"error"`},
	} {
		s := newStand(t)
		for _, l := range s.says(c.line) {
			if l.Ask != "" {
				t.Errorf("%s: it is asked", name)
			}
		}
		s.wantAnswered(c.want)
	}
}

// TestManyQuestions: few wait, and two of one name none of both.
func TestManyQuestions(t *testing.T) {
	s := newStand(t)
	asked := 0
	for i := range 100 {
		for _, l := range s.says(asksFor(fmt.Sprint(i), "Bash", `{}`)) {
			if l.Kind == agent.Ask {
				asked++
			}
		}
	}
	if asked != maxAsks || len(s.answered) != 100-maxAsks {
		t.Errorf("%d wait, %d are answered", asked, len(s.answered))
	}
	s.answered = nil
	told := s.says(asksFor("3", "Bash", `{"command":"another"}`))
	s.wantAnswered("another question has the same name")
	if len(told) != 2 || told[0].Kind != agent.AskGone {
		t.Errorf("%+v", told)
	}
	if l := s.c.asks.decide(decision("3", "Bash", `{}`, true)); !l.Failed {
		t.Errorf("%+v", l)
	}
}

// TestQuestionsThatAreTakenBack: by the agent, and by the end of its last turn.
func TestQuestionsThatAreTakenBack(t *testing.T) {
	s := newStand(t)
	s.says(asksFor("a", "Bash", `{}`))
	s.says(asksFor("b", "Bash", `{}`))
	cancel := `{"type":"control_cancel_request","request_id":"a"}`
	if told := s.says(cancel); len(told) != 1 || told[0].Kind != agent.AskGone || told[0].Ask != "a" {
		t.Errorf("%+v", told)
	}
	if told := s.says(cancel); len(told) != 0 {
		t.Errorf("%+v", told)
	}
	if told := s.c.asks.end(); len(told) != 1 || told[0].Ask != "b" {
		t.Errorf("%+v", told)
	}
	told := s.says(asksFor("c", "Bash", `{}`))
	if len(told) != 1 || told[0].Kind != agent.Notice || len(s.answered) != 0 {
		t.Errorf("behind its end: %+v, %q", told, s.answered)
	}
}

// TestQuestionsThatAreToldAgain asks for a repetition: the adapter repeats the open questions word for word, and no others.
func TestQuestionsThatAreToldAgain(t *testing.T) {
	s := newStand(t)
	b := s.says(asksFor("b", "Bash", `{"command":"b"}`))
	a := s.says(asksFor("a", "Bash", `{"command":"a"}`))
	s.says(asksFor("c", "Bash", `null`))
	for range 2 {
		if told := s.c.asks.again(); !reflect.DeepEqual(told, append(a[:1:1], b...)) {
			t.Errorf("%+v", told)
		}
	}
	s.c.asks.decide(decision("a", "Bash", `{"command":"a"}`, true))
	if told := s.c.asks.again(); !reflect.DeepEqual(told, b) {
		t.Errorf("%+v", told)
	}
	s.c.asks.end()
	if told := s.c.asks.again(); len(told) != 0 {
		t.Errorf("%+v", told)
	}
}

// TestAnAgentThatWasNotToldToAsk is not answered: nothing on the other side knows of its questions.
func TestAnAgentThatWasNotToldToAsk(t *testing.T) {
	c := &claude{}
	if told := read(c, []byte(asksFor("q", "Bash", `{}`))); len(told) != 0 {
		t.Errorf("%+v", told)
	}
}

// TestToldToAsk: by a word of the adapter's own arguments. Claude Code's flags then ask for everything, and the
// workspace has no say.
func TestToldToAsk(t *testing.T) {
	words := func(name, about string) []string { return []string{name, "--task", "t", "--ask", about, "--", name} }
	if o, err := parse(words("claude", "tools")); err != nil || o.ask != "tools" {
		t.Errorf("%+v, %v", o.ask, err)
	}
	for _, args := range [][]string{words("codex", "everything"), words("claude", "everything")} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	args := strings.Join(askArgs(claudeArgs("m", nil)), " ")
	if strings.Contains(args, "skip-permissions") || !strings.Contains(args, "--permission-prompt-tool=stdio") || !strings.Contains(args, "--setting-sources=user") {
		t.Error(args)
	}
}
