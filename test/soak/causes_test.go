package soak

import (
	"fmt"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
)

// TestWhatHappenedExplainsAnEnd: the same ends, with their causes.
func TestWhatHappenedExplainsAnEnd(t *testing.T) {
	who := subject{"main", "a"}
	for name, c := range map[string]struct {
		status delegation.Status
		reason delegation.Reason
		why    func(*history)
	}{
		"removed": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.spans = []span{{deed: deedRemove, begin: at(1), end: at(1.1), sandboxes: h.sandboxesOf(0)}}
		}},
		"orphaned": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.spans = []span{{deed: deedOrphan, begin: at(1), end: at(1.1), sandboxes: h.sandboxesOf(0)}}
		}},
		"all killed": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.spans = []span{{deed: deedAll, begin: at(1), end: at(1.1), sandboxes: h.sandboxesOf(0)}}
		}},
		"unseen": {delegation.StatusError, delegation.ReasonLost, func(h *history) { h.spans = []span{{deed: deedSlay, begin: at(1), end: at(3), kept: true}} }},
		"forgotten": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.told(actionDied, "0")
			h.spans = []span{{deed: deedSlay, begin: at(1.1).Add(written / 2), end: at(3)}}
		}},
		"removed after its end": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.told(actionDied, "0")
			h.spans = []span{{deed: deedRemove, begin: at(1.9), end: at(2.5), sandboxes: h.sandboxesOf(0)}}
		}},
		"unknown to the engine": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.told(actionDied, unknownCode)
			h.spans = []span{{deed: deedPower, begin: at(0.5), end: at(1)}}
		}},
		"killed between the note and the word": {delegation.StatusError, delegation.ReasonLost, func(h *history) {
			h.runs[0].Started, h.lives = time.Time{}, h.lives[1:]
			h.told(actionDied, fmt.Sprint(runfile.AbandonedExit))
			h.spans = []span{{deed: deedDown, begin: at(0.95), end: at(1.9), kept: true}}
		}},
		"powerless": {delegation.StatusError, delegation.ReasonLost, func(h *history) { h.spans = []span{{deed: deedPower, begin: at(1), end: at(3)}} }},
		"its sentry was killed": {delegation.StatusError, delegation.ReasonSignalled, func(h *history) {
			h.spans = []span{{deed: deedSentry, begin: at(1), end: at(1.5), sandboxes: h.sandboxesOf(0)}}
		}},
		"stopped":   {delegation.StatusError, delegation.ReasonSignalled, func(h *history) { h.spans = []span{{deed: deedStop, begin: at(1), end: at(3)}} }},
		"cancelled": {delegation.StatusCancelled, delegation.ReasonCancelled, func(h *history) { h.asks[0].cancelled = []time.Time{at(1.5)} }},
		"operator":  {delegation.StatusCancelled, delegation.ReasonOperator, func(h *history) { h.spans = []span{{deed: deedOperator, begin: at(1), end: at(3), who: &who}} }},
		"shut down": {delegation.StatusCancelled, delegation.ReasonShutdown, func(h *history) { h.spans = []span{{deed: deedTerm, begin: at(1), end: at(3)}} }},
	} {
		h := honest()
		ended(h, c.status, c.reason, -1)
		h.asks[0].answers[0].ExitCode = -1
		if len(h.faults()) == 0 {
			t.Errorf("%s: nothing explains it, and it is believed", name)
		}
		if c.why(h); len(h.faults()) > 0 {
			t.Errorf("%s: %q", name, h.faults())
		}
	}
}

// TestAFreezeExplainsALateEnd, and so does an outbox that was away, or an engine. A second watcher does not. What is not wanted ends when
// its watcher goes on.
func TestAFreezeExplainsALateEnd(t *testing.T) {
	for why, late := range map[deed]bool{deedFreeze: false, deedAway: false, deedExchange: false, deedBack: false, deedSecond: true} {
		h := honest()
		h.lives[1].last = at(16)
		h.spans = []span{{deed: why, begin: at(4.9), end: at(15), kept: true}}
		if (len(h.faults()) > 0) != late {
			t.Errorf("%s: %q", why, h.faults())
		}
	}
}
