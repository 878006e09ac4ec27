package mcp

import (
	"strings"
	"testing"

	"torno/delegation"
)

// TestAChildThatIsGoneIsToldOnce: somebody removed its request. The wait that finds out says so, and the others are waited for.
func TestAChildThatIsGoneIsToldOnce(t *testing.T) {
	for name, args := range map[string]string{"first": `{"seconds":0}`, "every": `{"until":"all","seconds":0}`} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.beat(nil)
			p := s.serve(Options{Fresh: -1})
			p.tool("delegate", `{"tasks":[{"id":"lost","task":"x"},{"id":"works","task":"y"}]}`)
			s.check(s.dir.Remove(delegation.RequestName(s.request("lost").SubagentID)))

			r := p.tool("wait", args)
			if said := string(r.Struct); r.IsError || !strings.Contains(said, `"gone":[{"id":"lost"`) || !strings.Contains(said, `"waiting":[{"id":"works"`) {
				t.Errorf("the first wait says %s", said)
			}
			s.end("works", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "done")
			r = p.tool("wait", args)
			if said := string(r.Struct); r.IsError || strings.Contains(said, "lost") || !strings.Contains(said, "done") {
				t.Errorf("the second wait says %s", said)
			}
			if r := p.tool("wait", args); !strings.Contains(string(r.Struct), "nothing_to_wait_for") {
				t.Errorf("the third wait says %s", r.Struct)
			}
		})
	}
}

// TestAChildThatGoesDuringAWaitEndsIt: it counts as an end, as no answer of it comes.
func TestAChildThatGoesDuringAWaitEndsIt(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{Fresh: -1})
	p.tool("delegate", `{"tasks":[{"id":"lost","task":"x"},{"id":"works","task":"y"}]}`)
	p.send(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait","arguments":{"seconds":18}}}`)
	waitFor(t, func() bool { return len(p.server.waits) == 1 })
	s.check(s.dir.Remove(delegation.RequestName(s.request("lost").SubagentID)))
	if said := string(p.hear().Result); !strings.Contains(said, `"gone":[{"id":"lost"`) || !strings.Contains(said, `"waiting":[{"id":"works"`) {
		t.Errorf("the wait says %s", said)
	}
	if said := string(p.tool("wait", `{"seconds":0}`).Struct); strings.Contains(said, "lost") {
		t.Errorf("the next wait says it again: %s", said)
	}
}

// TestAnEarlierResultIsNotTakenForALaterOne: the copy of an earlier run of the same name stands where the later one's request went.
func TestAnEarlierResultIsNotTakenForALaterOne(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{Fresh: -1})
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "earlier")
	p.tool("wait", `{"seconds":0}`)
	p.tool("delegate", `{"tasks":[{"id":"a","task":"y"}]}`) // takes the earlier result away
	s.check(s.dir.Remove(delegation.RequestName(s.request("a").SubagentID)))
	if said := string(p.tool("wait", `{"seconds":0}`).Struct); strings.Contains(said, "earlier") || !strings.Contains(said, `"gone":[{"id":"a"`) {
		t.Errorf("the wait says %s", said)
	}
}
