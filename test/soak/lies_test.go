package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// lies make a history in which a rule is broken, the one of their name.
var lies = map[string]map[string]func(*history){
	"who waits is answered": {
		"silence":              func(h *history) { h.asks[0].answers = nil },
		"asked again, silence": func(h *history) { h.asks[1].written = append(h.asks[1].written, at(20)) },
	},
	"an answer never changes": {
		"another one": func(h *history) { h.asks[0].answers = append(h.asks[0].answers, h.asks[0].answers[0]) },
	},
	"nonsense is refused": {
		"it ran": func(h *history) { h.asks[0].nonsense = true },
	},
	"a request of another time is refused": {
		"it ran":             func(h *history) { h.asks[0].Age = 30 * 24 * time.Hour },
		"it ran, unanswered": func(h *history) { h.asks[1].Age = -30 * 24 * time.Hour },
		"it is shut down": func(h *history) {
			h.asks[0].Age, h.lives = -30*24*time.Hour, h.lives[1:]
			ended(h, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
		},
	},
	"another directory's requests are let alone": {
		"it ran": func(h *history) { h.asks[0].unasked = true },
		"it is refused": func(h *history) {
			h.asks[0].unasked, h.lives, h.runs = true, h.lives[1:], h.runs[1:]
			ended(h, delegation.StatusError, delegation.ReasonRefused, -1)
		},
		"it was given up": func(h *history) { h.asks[1].unasked, h.lives = true, h.lives[:1] },
	},
	"no attempt is made twice": {
		"on another engine": func(h *history) {
			again := *h.lives[0]
			again.born, again.last = at(1.2), at(1.3)
			h.lives = append(h.lives, &again)
			h.exchange(false)
		},
		"its outbox was away": func(h *history) {
			again := *h.lives[0]
			again.born, again.last = at(1.2), at(1.3)
			h.lives = append(h.lives, &again)
			h.spans = []span{{deed: deedAway, begin: at(0.5), end: at(3), kept: true}}
		},
		"by a second watcher": func(h *history) {
			again := *h.lives[0]
			again.born, again.last = at(1.2), at(1.3)
			h.lives = append(h.lives, &again)
			h.spans = []span{{deed: deedSecond, begin: at(0.5), end: at(3), kept: true}}
		},
		"two children": func(h *history) {
			again := *h.lives[0]
			again.born, again.last = at(2), at(2)
			h.lives = append(h.lives, &again)
		},
		"one child, twice":    func(h *history) { h.lives[0].starts = 2 },
		"more than was noted": func(h *history) { h.runs = h.runs[1:] },
		"attempts not made":   func(h *history) { h.asks[0].answers[0].Attempt = 2 },
		"not released":        func(h *history) { h.runs[0].Released, h.runs[0].Started = time.Time{}, time.Time{} },
	},
	"an exit is an exit": {
		"without its end":    func(h *history) { h.lives[0].ends = 0 },
		"without a child":    func(h *history) { h.lives = h.lives[1:] },
		"with another code":  func(h *history) { ended(h, delegation.StatusError, delegation.ReasonExited, 7) },
		"completed and lost": func(h *history) { ended(h, delegation.StatusCompleted, delegation.ReasonLost, -1) },
		"an error with 0":    func(h *history) { ended(h, delegation.StatusError, delegation.ReasonExited, 0) },
	},
	"an end has a reason": {
		"cancelled": func(h *history) { ended(h, delegation.StatusCancelled, delegation.ReasonCancelled, -1) },
		"deadline":  func(h *history) { ended(h, delegation.StatusTimeout, delegation.ReasonDeadline, -1) },
		"signalled": func(h *history) { ended(h, delegation.StatusError, delegation.ReasonSignalled, 137) },
		"signalled, and another's sentry was killed": func(h *history) {
			ended(h, delegation.StatusError, delegation.ReasonSignalled, 137)
			h.spans = []span{{deed: deedSentry, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(1)}}
		},
		"launch failed, and another's sentry was killed": func(h *history) {
			ended(h, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
			h.spans = []span{{deed: deedSentry, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(1)}}
		},
		"refused": func(h *history) { ended(h, delegation.StatusError, delegation.ReasonRefused, -1) },
		"stale, and its time is near": func(h *history) {
			h.asks[0].Age, h.lives = 20*time.Hour, h.lives[1:]
			ended(h, delegation.StatusError, delegation.ReasonRefused, -1)
			h.asks[0].answers[0].Error = &delegation.Refusal{Code: delegation.CodeStale}
		},
		"shut down, and only a second watcher was": func(h *history) {
			ended(h, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
			h.spans = []span{{deed: deedSecond, begin: at(0.5), end: at(3), kept: true}}
		},
		"its watcher stood still": func(h *history) {
			ended(h, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
			h.spans = []span{{deed: deedFreeze, begin: at(0.5), end: at(2), kept: true}}
		},
		"its client is gone, and its outbox was away": func(h *history) {
			ended(h, delegation.StatusCancelled, delegation.ReasonClientGone, -1)
			h.spans = []span{{deed: deedAway, begin: at(0.5), end: at(2), kept: true}}
		},
		"launch failed, and its outbox was away": func(h *history) {
			ended(h, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
			h.spans = []span{{deed: deedAway, begin: at(0.5), end: at(2), kept: true}}
		},
		"signalled, and its engine was exchanged": func(h *history) {
			ended(h, delegation.StatusError, delegation.ReasonSignalled, 137)
			h.exchange(false)
		},
		"launch failed, and its engine was exchanged": func(h *history) {
			ended(h, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
			h.exchange(false)
		},
		"unheard": func(h *history) { ended(h, delegation.StatusError, "bored", -1) },
		"shut down, and the runs were kept": func(h *history) {
			ended(h, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
			h.spans = []span{{deed: deedTerm, begin: at(1), end: at(1.5), kept: true}}
		},
	},
	"dead before it is answered": {
		"a tick after it": func(h *history) { h.lives[0].last = at(2.15) },
	},
	"one at a time": {
		"in a workspace": func(h *history) { h.lives[0].last = at(4.5); h.asks[0].answers[0].written = at(5) },
		"of a subagent": func(h *history) {
			h.lives[1].workspace = "/x"
			h.asks[1].subject = h.asks[0].subject
			h.lives[1].born = at(1.5)
		},
		"at the very end": func(h *history) { h.lives[1].born = at(1.999) },
		"in the workspace of a stranded run": func(h *history) {
			h.lives[0].last = at(4.5)
			h.asks[0].answers[0].written = at(5)
			h.exchange(true)
		},
	},
	"what is not wanted ends": {
		"taken away": func(h *history) { h.lives[1].last = at(5).Add(late + time.Second) },
		"cancelled":  func(h *history) { h.asks[1].left, h.asks[1].cancelled = nil, h.asks[1].left; h.lives[1].last = at(15) },
		"while it began": func(h *history) {
			h.lives[1].born, h.lives[1].last = at(11), at(11.1).Add(late)
		},
		"its watcher stood still for a moment": func(h *history) {
			h.spans = []span{{deed: deedFreeze, begin: at(4.9), end: at(5.9), kept: true}}
			h.lives[1].last = at(6).Add(3 * late)
		},
		"its outbox was away for a moment": func(h *history) {
			h.spans = []span{{deed: deedAway, begin: at(4.9), end: at(5.9), kept: true}}
			h.lives[1].last = at(6.1).Add(late)
		},
		"a second watcher came": func(h *history) {
			h.spans = []span{{deed: deedSecond, begin: at(4.9), end: at(12), kept: true}}
			h.lives[1].last = at(5.5).Add(late)
		},
		"released later": func(h *history) {
			h.runs[1].Released, h.runs[1].Ended = at(5.1), at(5.2).Add(late)
			h.lives[1].born, h.lives[1].last = at(4.9).Add(late), at(5.1).Add(late)
		},
	},
	"time is up when it is up": {
		"too late": func(h *history) {
			h.asks[1].Timeout = 1
			h.asks[1].left = []time.Time{at(19)}
			h.lives[1].last = at(20)
		},
		"too late, and its watcher stood still for a moment": func(h *history) {
			h.asks[1].Timeout = 1
			h.asks[1].left = []time.Time{at(23)}
			h.spans = []span{{deed: deedFreeze, begin: at(4.5), end: at(5.5), kept: true}}
			h.lives[1].last = at(23)
		},
		"too early, and its watcher stood still": func(h *history) {
			h.asks[0].kind.timeout, h.asks[0].Timeout = 3, 3
			h.spans = []span{{deed: deedFreeze, begin: at(1.2), end: at(1.9), kept: true}}
			ended(h, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
		},
		"too early": func(h *history) {
			h.asks[0].kind.timeout = 1
			ended(h, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
		},
	},
	"output is whole": {
		"a line too much": func(h *history) { h.asks[0].answers[0].StdoutTail = "what?\n" },
		"a line too few":  func(h *history) { h.asks[0].kind.says = true },
	},
	"the journal knows": {
		"nothing":          func(h *history) { h.runs = nil; h.lives = nil },
		"no end":           func(h *history) { h.runs[1].State = delegation.StateRunning },
		"no answer":        func(h *history) { h.runs[0].Answered = false },
		"another reason":   func(h *history) { h.runs[0].Reason = delegation.ReasonLost },
		"another time":     func(h *history) { h.runs[0].Ended = at(9) },
		"no time":          func(h *history) { h.runs[1].Ended = time.Time{} },
		"no release":       func(h *history) { h.runs[1].Released = time.Time{} },
		"no attestation":   func(h *history) { h.runs[0].Attestation = nil },
		"a second attempt": func(h *history) { h.runs = append(h.runs, h.runs[0]); h.runs[2].Attempt = 2 },
	},
	"what is lost was taken": {
		"by nobody": func(h *history) { h.lose(false) },
		"its outbox was away": func(h *history) {
			h.lose(false)
			h.spans = []span{{deed: deedAway, begin: at(0.5), end: at(1.9), kept: true}}
		},
		"by nobody, and made again": func(h *history) { h.lose(true) },
		"its engine was exchanged": func(h *history) {
			h.lose(false)
			h.exchange(false)
		},
		"its engine was exchanged, and it is made again on the other one": func(h *history) {
			h.lose(true)
			h.engine[string(idOf(2))] = []deedOfEngine{{engine: otherEngine, action: "create", at: at(1.25)}}
			h.exchange(false)
		},
		"its engine was exchanged, and is dead, and this was the other one's": func(h *history) {
			h.lose(false)
			h.engine[string(idOf(1))] = []deedOfEngine{{engine: otherEngine, action: "create", at: at(0.5)}}
			h.spans = []span{{deed: deedSlay, begin: at(0.3), end: at(3)}}
		},
		"its watcher was killed": func(h *history) {
			h.lose(false)
			h.spans = []span{{deed: deedKill, begin: at(0.5), end: at(1.9), kept: true}}
		},
		"its watcher was killed between the note and the word, and its agent began": func(h *history) {
			h.lose(false)
			h.runs[0].Started = time.Time{}
			h.spans = []span{{deed: deedKill, begin: at(0.8), end: at(1.9), kept: true}}
		},
		"its watcher was killed long after the note": func(h *history) {
			h.lose(false)
			h.runs[0].Started, h.lives = time.Time{}, h.lives[1:]
			h.spans = []span{{deed: deedKill, begin: at(1).Add(soon), end: at(9), kept: true}}
		},
		"in its hold": func(h *history) {
			h.lose(false)
			h.runs[0].Released, h.runs[0].Started, h.lives = time.Time{}, time.Time{}, h.lives[1:]
			h.spans = []span{{deed: deedKeeper, begin: at(0.8), end: at(1), sandboxes: h.sandboxesOf(0)}}
		},
		"another's keeper was killed": func(h *history) {
			h.lose(false)
			h.spans = []span{{deed: deedKeeper, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(1)}}
		},
		"another's container was removed": func(h *history) {
			h.lose(false)
			h.spans = []span{{deed: deedRemove, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(1)}}
		},
		"the keeper of its next attempt was killed": func(h *history) {
			h.lose(true)
			h.spans = []span{{deed: deedKeeper, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(0)[1:]}}
		},
		"the engine was killed before it": func(h *history) {
			h.lose(false)
			h.runs[0].Starting = at(0.6)
			h.spans = []span{{deed: deedSlay, begin: at(0.1), end: at(0.5)}}
		},
		"the engine was hung": func(h *history) {
			h.lose(false)
			h.spans = []span{{deed: deedHang, begin: at(1), end: at(1.5), kept: true}}
		},
		"the engine was killed, and it has lived on": func(h *history) {
			h.lose(false)
			h.runs[0].Started = at(1)
			h.spans = []span{{deed: deedStop, begin: at(1), end: at(1.5), kept: true}}
		},
	},
	"an end is believed": {
		"its keeper has seen it, and was killed": func(h *history) {
			h.lose(false)
			h.told(actionEnded, "0")
			h.spans = []span{{deed: deedKeeper, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(0)}}
		},
		"its keeper has seen it, and it is made again": func(h *history) {
			h.lose(true)
			h.told(actionEnded, "0")
			h.spans = []span{{deed: deedPair, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(0)}}
		},
		"its engine has seen it, and was killed much later": func(h *history) {
			h.lose(false)
			h.told(actionDied, "0")
			h.spans = []span{{deed: deedSlay, begin: at(1.1).Add(2 * written), end: at(9)}}
		},
		"its engine has seen it, and another's was removed": func(h *history) {
			h.lose(false)
			h.told(actionDied, "0")
			h.spans = []span{{deed: deedRemove, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(1)}}
		},
	},
	"the engine did it once": {
		"two containers": func(h *history) { h.did("create") },
		"two starts":     func(h *history) { h.did("start") },
		"two starts on two engines": func(h *history) {
			h.engine[string(idOf(1))] = append(h.engine[string(idOf(1))], deedOfEngine{engine: otherEngine, action: "start", at: at(1.1)})
			h.exchange(false)
		},
	},
	"a stranded run waits": {
		"it is lost": func(h *history) {
			h.lose(false)
			h.exchange(true)
		},
		"it is lost, and its engine was killed": func(h *history) {
			h.lose(false)
			h.exchange(true)
			h.spans = append(h.spans, span{deed: deedSlay, begin: at(1), end: at(3)})
		},
		"it is made again, and its engine was killed": func(h *history) {
			h.lose(true)
			h.exchange(true)
			h.spans = append(h.spans, span{deed: deedSlay, begin: at(1), end: at(3)})
		},
		"it is cancelled": func(h *history) {
			ended(h, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
			h.asks[0].cancelled = []time.Time{at(1.5)}
			h.exchange(true)
		},
		"it exits": func(h *history) { h.exchange(true) },
	},
	strays: {
		"a second watcher's": func(h *history) {
			h.engine[string(idOf(7))] = []deedOfEngine{{action: "start", at: at(2)}}
			h.spans = []span{{deed: deedSecond, begin: at(1), end: at(3), kept: true}}
		},
		"given up for nothing": func(h *history) { h.engine[string(idOf(7))] = []deedOfEngine{{action: "start", at: at(2)}} },
		"given up long after its watcher's end": func(h *history) {
			h.engine[string(idOf(7))] = []deedOfEngine{{action: "start", at: at(2).Add(2 * soon)}}
			h.spans = []span{{deed: deedKill, begin: at(1), end: at(2), kept: true}}
		},
		"started twice, and given up": func(h *history) {
			h.engine[string(idOf(7))] = []deedOfEngine{{action: "start", at: at(2)}, {action: "start", at: at(2)}}
			h.spans = []span{{deed: deedKill, begin: at(1), end: at(2), kept: true}}
		},
	},
}

// TestEveryRuleFindsItsLies: a rule that finds nothing would make the soak a walk in the rain.
func TestEveryRuleFindsItsLies(t *testing.T) {
	for _, r := range rules {
		if len(lies[r.name]) == 0 {
			t.Errorf("there is no lie that the rule %q could find", r.name)
		}
		for name, lie := range lies[r.name] {
			h := honest()
			lie(h)
			if found := strings.Join(h.faults(), ""); !strings.Contains(found, r.name+": ") {
				t.Errorf("%s: %s is not found, but %q", r.name, name, found)
			}
		}
	}
	for name, lie := range lies[strays] {
		h := honest()
		lie(h)
		if found := strings.Join(h.faults(), ""); !strings.Contains(found, strays+": ") {
			t.Errorf("%s: %s is not found, but %q", strays, name, found)
		}
	}
	for name := range lies {
		if name != strays && !slices.ContainsFunc(rules, func(r rule) bool { return r.name == name }) {
			t.Errorf("there is no rule %q that could find these lies", name)
		}
	}
}

func TestAnHonestHistoryHasNoFaults(t *testing.T) {
	if faults := honest().faults(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
}
