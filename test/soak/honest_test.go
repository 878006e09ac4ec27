package soak

import (
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox"
	"torno/test/house"
)

// epoch is when the histories of these tests begin.
var epoch = time.Now().Add(-time.Hour)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// honest is a history in which all is well: one request that was answered, and one that was taken away.
func honest() *history {
	done := &ask{
		Ask:     house.Ask{ID: "a", Request: "a.1", Workspace: "/w", Timeout: plenty},
		subject: subject{"main", "a"}, kind: &kind{name: "quick", ticks: 1}, attempts: 1,
		written: []time.Time{at(0)},
		answers: []*answer{{
			Response: delegation.Response{
				Status: delegation.StatusCompleted, Reason: delegation.ReasonExited, RequestID: "a.1", Attempt: 1, StartedAt: at(1), CompletedAt: at(2),
			},
			written: at(2.1), seen: at(2.2),
		}},
	}
	gone := &ask{
		Ask:     house.Ask{ID: "b", Request: "b.2", Workspace: "/w", Timeout: plenty},
		subject: subject{"main", "b"}, kind: &kind{name: "long", ticks: 50}, attempts: 1,
		written: []time.Time{at(3)}, left: []time.Time{at(5)},
	}
	return &history{
		asks: []*ask{done, gone},
		lives: []*life{
			{token: "a.1", workspace: "/w", born: at(1), last: at(2), starts: 1, ends: 1},
			{token: "b.2", workspace: "/w", born: at(4), last: at(5.5), starts: 1},
		},
		runs: []control.Run{
			{
				Outbox: "main", Subagent: "a", Request: "a.1", Attempt: 1, State: delegation.StateEnded, Reason: delegation.ReasonExited, Answered: true,
				SandboxID: idOf(1), Attestation: &sandbox.Attestation{}, Created: at(0), Released: at(0.9), Started: at(1), Ended: at(2),
			},
			{
				Outbox: "main", Subagent: "b", Request: "b.2", Attempt: 1, State: delegation.StateEnded, Reason: delegation.ReasonClientGone, Answered: true,
				SandboxID: idOf(3), Attestation: &sandbox.Attestation{}, Created: at(3), Released: at(3.9), Started: at(4), Ended: at(6),
			},
		},
		engine: map[string][]deedOfEngine{string(idOf(1)): {{action: "create", at: at(0.5)}, {action: "start", at: at(0.7)}}},
	}
}

// idOf is a sandbox's id.
func idOf(number int) sandbox.SandboxID { return sandbox.SandboxID(fmt.Sprintf("%032d", number)) }

// ended has the first request of a history end otherwise, as all records agree.
func ended(h *history, status delegation.Status, reason delegation.Reason, code int) {
	n := h.asks[0].answers[0]
	n.Status, n.Reason, n.ExitCode = status, reason, code
	h.runs[0].Reason = reason
}

// did has the engine do something for the first request once more.
func (h *history) did(action string) { h.told(action, "") }

// told has it tell a code, too.
func (h *history) told(action, code string) {
	h.engine[string(idOf(1))] = append(h.engine[string(idOf(1))], deedOfEngine{action: action, code: code, at: at(1.1)})
}

// exchange has another engine answer in the middle of the first request, whose attempts are stranded if that is said.
func (h *history) exchange(stranded bool) {
	s := span{deed: deedExchange, begin: at(0.95), end: at(9), kept: true}
	if stranded {
		s.sandboxes = h.sandboxesOf(0)
	}
	h.spans = append(h.spans, s)
}

// sandboxesOf are those of an ask's attempts.
func (h *history) sandboxesOf(i int) (ids []string) {
	for _, r := range h.runsOf(h.asks[i]) {
		ids = append(ids, string(r.SandboxID))
	}
	return ids
}

// lose has the first attempt of the first request be lost: the only one, or one that is made again.
func (h *history) lose(again bool) {
	if !again {
		ended(h, delegation.StatusError, delegation.ReasonLost, -1)
		return
	}
	h.asks[0].attempts, h.asks[0].answers[0].Attempt = 2, 2
	second := h.runs[0]
	second.Attempt, second.Starting, second.SandboxID, second.Released = 2, at(1.2), idOf(2), at(1.3)
	h.runs = append(h.runs, second)
	h.runs[0].Reason, h.runs[0].Ended = delegation.ReasonLost, at(1.2)
}
