package manager

import (
	"testing"
	"time"

	"torno/delegation"
)

// TestARefusalIsHeardAtOnce: a caller that does not wait for the end hears of a refusal all the same, and of nothing else.
func TestARefusalIsHeardAtOnce(t *testing.T) {
	const most = 100 * time.Millisecond
	for name, c := range map[string]struct {
		later   func(h *host, run *Run)
		refused bool
		took    time.Duration
	}{
		"refused": {func(h *host, run *Run) {
			h.respond(run, func(r *delegation.Response) { r.Status, r.Reason = delegation.StatusError, delegation.ReasonRefused })
		}, true, 50 * time.Millisecond},
		"ended": {func(h *host, run *Run) { h.respond(run) }, false, 50 * time.Millisecond},
		"an older one": {func(h *host, run *Run) {
			h.respond(run, func(r *delegation.Response) { r.RequestID, r.Reason = "other", delegation.ReasonRefused })
		}, false, most},
		"silence": {func(*host, *Run) {}, false, most},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				begin := time.Now()
				h.later(40*time.Millisecond, func() { c.later(h, run) })
				result, refused, err := run.AwaitAdmission(t.Context(), most)
				if err != nil || refused != c.refused || refused && !result.Refused() {
					t.Errorf("%v, %v: %+v", refused, err, result)
				}
				if took := time.Since(begin); took > c.took {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
