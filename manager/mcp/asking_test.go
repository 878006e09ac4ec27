package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// TestAQuestionEndsAWait at once, whether it waits for the first to end or for all, and the same question ends no second wait.
func TestAQuestionEndsAWait(t *testing.T) {
	for _, until := range []string{"any", "all"} {
		t.Run(until, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.beat(nil)
			p := s.serve(Options{})
			p.server.mostWait = time.Hour // longer than a call may take
			p.tool("delegate", `{"tasks":[{"id":"a","task":"x"},{"id":"b","task":"y"}]}`)
			for number := 1; number <= 2; number++ {
				p.begin(fmt.Sprint("w", number), "wait", fmt.Sprintf(`{"until":%q,"seconds":3600}`, until))
				waitFor(t, func() bool { return len(p.server.waits) == 1 })
				s.asks("b", delegation.PendingApproval{Approval: number, Tool: "Bash", Arguments: "{}"})
				said := string(p.hear().Result)
				if !strings.Contains(said, fmt.Sprintf(`"asks":[{"approval":%d,`, number)) || !strings.Contains(said, `"next":"judge the questions of b, and decide those that you may with approve; call wait again"`) {
					t.Errorf("question %d: %s", number, said)
				}
				begin := time.Now()
				again := p.tool("wait", fmt.Sprintf(`{"until":%q,"seconds":1}`, until))
				if took := time.Since(begin); took < time.Second {
					t.Errorf("question %d ended a second wait, after %s: %s", number, took, again.Struct)
				}
				if !strings.Contains(string(again.Struct), fmt.Sprintf(`"asks":[{"approval":%d,`, number)) {
					t.Errorf("question %d: the second wait does not show it: %s", number, again.Struct)
				}
			}
		})
	}
}

// TestWhatWasAskedIsToldByNumberAndDigest, for each run by itself, and only of as many questions as an answer shows.
func TestWhatWasAskedIsToldByNumberAndDigest(t *testing.T) {
	var a asked
	q := func(n int, digest string) delegation.PendingApproval {
		return delegation.PendingApproval{Approval: n, Digest: digest}
	}
	waiting := []delegation.PendingApproval{q(1, "d"), q(2, "d"), q(3, "d"), q(4, "d"), q(5, "d")}
	first := a.untold("run", waiting)
	if len(first) != maxQuestions {
		t.Errorf("%d questions end a wait, %d are shown", len(first), maxQuestions)
	}
	a.note(first)
	for _, c := range []struct {
		name, request string
		waiting       []delegation.PendingApproval
		want          int
	}{
		{"the same again", "run", waiting, 0},
		{"the one that was not shown", "run", waiting[1:], 1},
		{"another digest under a number", "run", []delegation.PendingApproval{q(1, "e")}, 1},
		{"another run's", "other", waiting[:1], 1},
	} {
		if got := len(a.untold(c.request, c.waiting)); got != c.want {
			t.Errorf("%s: %d are new, want %d", c.name, got, c.want)
		}
	}
	for n := range 2 * maxAskedKept {
		a.note([]questionKey{{"many", n, "d"}})
	}
	if len(a.told) != maxAskedKept || len(a.order) != maxAskedKept {
		t.Errorf("%d and %d questions are remembered, want %d", len(a.told), len(a.order), maxAskedKept)
	}
}

// TestTheNextStepOfAWait names the subagents that wait for a decision, and what to do for each.
func TestTheNextStepOfAWait(t *testing.T) {
	ours, operators := []question{{Approval: 1}}, []question{{Approval: 1, DecidedBy: []string{"operator"}}}
	var many []standing
	for i := range maxAskersNamed + 2 {
		many = append(many, standing{ID: fmt.Sprintf("c%d", i), Asks: ours})
	}
	for want, waiting := range map[string][]standing{
		"": {{ID: "a"}},
		"judge the questions of a, b, and decide those that you may with approve; call wait again":                                                                                                         {{ID: "a", Asks: ours}, {ID: "b", Asks: ours}, {ID: "c"}},
		"tell the user that only the operator may decide the questions of a, on the host, with watcher approve or watcher deny; call wait again":                                                           {{ID: "a", Asks: operators}},
		"call status with one id alone to see the other questions of a, and decide those that you may with approve; call wait again":                                                                       {{ID: "a", AsksMore: true}},
		"judge the questions of c0, c1, c2, c3, c4, c5, c6, c7 and 2 more, and decide those that you may with approve; call wait again":                                                                    many,
		"judge the questions of a, and decide those that you may with approve; call status with one id alone to see the other questions of a, and decide those that you may with approve; call wait again": {{ID: "a", Asks: ours, AsksMore: true}},
	} {
		if got := nextDecision(waiting); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
