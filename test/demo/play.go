package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"torno/delegation"
)

// cage is what the parent finds out about its own container.
type cage struct {
	Interfaces   []string `json:"interfaces"`   // that are up
	Capabilities string   `json:"capabilities"` // the bounding set and the effective one, hexadecimal
	UID          int      `json:"uid"`
	Socket       bool     `json:"socket"` // whether an engine's socket is to be seen
}

// ending is how one child ended, as the parent was told.
type ending struct {
	Child   string              `json:"child"`
	Status  delegation.Status   `json:"status"`
	Reason  delegation.Reason   `json:"reason"`
	Answer  string              `json:"answer,omitempty"`
	Refusal *delegation.Refusal `json:"refusal,omitempty"`
	Text    string              `json:"text,omitempty"`   // the refusal's sentence
	Stderr  string              `json:"stderr,omitempty"` // its tail, to explain what should not be
	Took    time.Duration       `json:"took"`             // from Spawn to the end of Wait, by the parent's clock
	Timings *delegation.Timings `json:"timings,omitempty"`
}

// line is one line of what the parent prints: a JSON object with one of the two.
type line struct {
	Cage   *cage   `json:"cage,omitempty"`
	Ending *ending `json:"ending,omitempty"`
}

// part is the purpose of a child, and how it has to end.
type part struct {
	child  string
	status delegation.Status
	reason delegation.Reason
	code   delegation.Code
	answer string
	tells  func(ending) string // the story in a few words
}

// withoutModel is the play where no child can reach a model.
func withoutModel() []part {
	return slices.DeleteFunc(play(), func(p part) bool { return p.child == talker })
}

// ranges are the numbers that the three children look through.
const (
	helpers   = 3
	perHelper = 10_000
)

// The children's names.
const (
	digger  = "digger"
	dawdler = "dawdler"
	snooper = "snooper"
	talker  = "talker"
)

func helper(i int) string { return fmt.Sprintf("counter-%d", i+1) }

// play is the whole play: its parts, in the order of their entrances, and how each part has to end.
func play() []part {
	counted := func(i int) func(ending) string {
		return func(e ending) string {
			return fmt.Sprintf("found %s primes from %d to %d", e.Answer, i*perHelper+1, (i+1)*perHelper)
		}
	}
	var parts []part
	for i, primes := range []string{"1229", "1033", "983"} {
		parts = append(parts, part{
			child: helper(i), status: delegation.StatusCompleted, reason: delegation.ReasonExited, answer: primes,
			tells: counted(i),
		})
	}
	return append(parts,
		part{
			child: digger, status: delegation.StatusCancelled, reason: delegation.ReasonCancelled, answer: "my notes are saved",
			tells: func(e ending) string { return fmt.Sprintf("was running; its last words: %q", e.Answer) },
		},
		part{
			child: dawdler, status: delegation.StatusTimeout, reason: delegation.ReasonDeadline, answer: "a first draft",
			tells: func(e ending) string { return fmt.Sprintf("had one second; it left %q", e.Answer) },
		},
		part{
			child: snooper, status: delegation.StatusError, reason: delegation.ReasonRefused, code: delegation.CodeContext,
			tells: func(e ending) string { return e.Text },
		},
		part{
			child: talker, status: delegation.StatusCompleted, reason: delegation.ReasonExited, answer: "The tool said: 42",
			tells: func(e ending) string { return fmt.Sprintf("its model asked for a tool, and: %q", e.Answer) },
		},
	)
}

// judge says in what an ending differs from the part, or nothing.
func (p part) judge(e ending) error {
	var code delegation.Code
	if e.Refusal != nil {
		code = e.Refusal.Code
	}
	if e.Status == p.status && e.Reason == p.reason && code == p.code && e.Answer == p.answer {
		return nil
	}
	return fmt.Errorf("%s had to end with %s, %s, %q, %q and ended with %s, %s, %q, %q %s", p.child,
		p.status, p.reason, p.code, p.answer, e.Status, e.Reason, code, e.Answer, strings.TrimSpace(e.Text+" "+e.Stderr))
}

// capable says whether the agent has a capability, or does not know.
func (c cage) capable() bool {
	return c.Capabilities == "" || strings.Trim(c.Capabilities, "0 ") != ""
}

// judge says what is wrong with the parent's own container, or nothing.
func (c cage) judge() error {
	if slices.Equal(c.Interfaces, []string{"lo"}) && !c.capable() && c.UID != 0 && !c.Socket {
		return nil
	}
	return fmt.Errorf("the parent's container is not as shut as it has to be: %+v", c)
}
