package mcp

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/manager"
)

// What stands here is for tests of sets of other packages: they are in package mcp_test, where both packages can be imported.

// StrangersText calls tools that show what the children a, b and c have written, and looks where it stands.
func StrangersText(t *testing.T, o Options, calls []string) {
	s := newStage(t)
	s.do("beat", []string{"asking"})
	for _, id := range []string{"a", "b", "c"} {
		s.spawn(id)
	}
	s.asks("c", delegation.PendingApproval{Tool: "x" + canary, Arguments: lie})
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, lie)
	s.end("b", delegation.Response{Status: delegation.StatusError, Reason: delegation.ReasonExited, ExitCode: 1, StdoutTail: lie, StderrTail: lie}, "")
	s.event("c", delegation.Event{Type: delegation.EventStdout, Text: lie})
	s.event("c", delegation.Event{Type: delegation.EventToolResult, Text: lie, Tool: &delegation.Tool{Name: canary}})
	p := s.serve(o)
	found := 0
	for _, call := range calls {
		tool, arguments, _ := strings.Cut(call, " ")
		for _, content := range p.tool(tool, arguments).Content {
			found += strings.Count(content.Text, canary)
			for line := range strings.Lines(content.Text) {
				cell := strings.HasPrefix(line, "| ") && strings.Contains(line, "| untrusted: ")
				if strings.Contains(line, canary) && !strings.HasPrefix(line, "  | ") && !cell {
					t.Errorf("%s: a stranger speaks in %q", call, line)
				}
				if strings.Contains(line, canary) {
					wantPlain(t, line)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("the child's text was found in %d places: the test has lost its way", found)
	}
}

// spawn asks for a child, as another process of the parent's does.
func (s *stage) spawn(id string) {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	defer m.Close()
	_, err = m.Spawn(s.Context(), manager.SpawnOptions{ID: id, Task: "x"})
	s.check(err)
}

// WaitForAPause calls a tool that waits for the child a while that asks something, and again while it ends.
func WaitForAPause(t *testing.T, o Options, call, pause, end string) {
	s := newStage(t)
	s.do("beat", []string{"asking"})
	s.spawn("a")
	p := s.serve(o)
	tool, arguments, _ := strings.Cut(call, " ")
	for _, step := range []struct {
		word string
		do   func()
	}{
		{pause, func() { s.asks("a", delegation.PendingApproval{Tool: "Bash", Arguments: "{}"}) }},
		{end, func() {
			s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "done")
		}},
	} {
		s.do("running", []string{"a"})
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, step.word, tool, arguments))
		step.do()
		if r := p.hear(); !strings.Contains(string(r.Result), step.word) {
			t.Errorf("the wait ended with %s, want %s", r.Result, step.word)
		}
	}
}

// Toolbox is a client of a set on a stage of its own, for tests of sets of other packages.
type Toolbox struct {
	s *stage
	p *peer
}

// NewToolbox begins a session.
func NewToolbox(t *testing.T, o Options) *Toolbox {
	o.Fresh = -1
	s := newStage(t)
	s.do("beat", []string{"asking"})
	return &Toolbox{s, s.serve(o)}
}

// Host has the host, or another process of the parent's, do something, as in a transcript.
func (b *Toolbox) Host(verb string, args ...string) {
	b.s.Helper()
	switch verb {
	case "spawns":
		b.s.spawn(args[0])
	case "takes":
		b.s.take(args[0])
	case "withdraws":
		b.s.withdraw(args[0])
	case "told": // ID STATE
		b.s.status(args[0], delegation.RunStatus{State: delegation.State(args[1]), RunningSince: time.Now()})
	default:
		b.s.do(verb, args)
	}
}

// take takes a result, as another process of the parent's does.
func (s *stage) take(id string) {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	defer m.Close()
	run, err := m.Attach(id)
	s.check(err)
	result, err := run.Wait(s.Context())
	s.check(err)
	s.check(run.Acknowledge(result))
}

// withdraw takes a request back, as another process of the parent's does.
func (s *stage) withdraw(id string) {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	defer m.Close()
	s.check(m.Withdraw(id))
}

// Call calls a tool, and returns what the model reads.
func (b *Toolbox) Call(tool, arguments string) (text string, failed bool) {
	b.s.Helper()
	said := b.p.tool(tool, arguments)
	for _, content := range said.Content {
		text += content.Text + "\n"
	}
	return text, said.IsError
}

// CallAs is Call of an agent that has this model.
func (b *Toolbox) CallAs(model, tool, arguments string) string {
	b.s.Helper()
	r := b.p.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"model_id":%q}}`, tool, arguments, model))
	return string(r.Result)
}

// Model is what the request of a child names.
func (b *Toolbox) Model(id string) string { return b.s.request(id).Model.String() }

// Files lists the outbox.
func (b *Toolbox) Files() string { return b.s.files() }

// Path is where a file of the outbox is.
func (b *Toolbox) Path(name string) string { return filepath.Join(b.s.path, name) }

// Leave ends the session.
func (b *Toolbox) Leave() { b.p.leave() }
