package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Another is a client of another server for the same outbox and the same user.
func (b *Toolbox) Another(o Options) *Toolbox {
	b.s.Helper()
	o.Fresh = -1
	return &Toolbox{b.s, b.s.serve(o)}
}

// Begin calls a tool and does not wait for its answer.
func (b *Toolbox) Begin(id, tool, arguments string) {
	b.s.Helper()
	b.p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
}

// Cancel takes a call back that was begun, and waits until the server has seen it.
func (b *Toolbox) Cancel(id string) {
	b.s.Helper()
	b.p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
	b.p.hear()
}

// Answer is what a call brings that was begun.
func (b *Toolbox) Answer() (text string, failed bool) {
	b.s.Helper()
	var r said
	b.s.check(json.Unmarshal(b.p.hear().Result, &r))
	for _, content := range r.Content {
		text += content.Text + "\n"
	}
	return text, r.IsError
}

// Until waits until the outbox has so many requests, and returns the ids of their subagents.
func (b *Toolbox) Until(requests int) (ids []string) {
	b.s.Helper()
	t, ok := b.s.TB.(*testing.T)
	if !ok {
		b.s.Fatal("it is for tests")
	}
	waitFor(t, func() bool { return len(b.s.requests()) == requests })
	for _, r := range b.s.requests() {
		ids = append(ids, r.SubagentID.String())
	}
	return ids
}

// Own is a directory of the parent's own.
func (b *Toolbox) Own(name string) *os.Root {
	b.s.Helper()
	root, err := (&Desk{s: b.p.server}).Own(name)
	b.s.check(err)
	b.s.Cleanup(func() { root.Close() })
	return root
}

// Lie is what a hostile child writes. WantQuoted fails where it stands in a text as it is, or in none.
const Lie = lie

// WantQuoted looks for the lie in what a model reads.
func WantQuoted(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, canary) {
		t.Errorf("the lie is not in %q", text)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(line, canary) {
			continue
		}
		wantPlain(t, strings.TrimSuffix(line, "\n"))
		if !strings.HasPrefix(line, "  | ") && !strings.HasPrefix(line, `{"agent":`) {
			t.Errorf("a stranger speaks in %q", line)
		}
	}
}
