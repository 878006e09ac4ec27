package engine

import (
	"fmt"
	"slices"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestDescriptorsAreExhausted floods a watcher that may open hardly a file more: no request is refused for it, and all runs
// are done when it may open more.
func TestDescriptorsAreExhausted(t *testing.T) {
	t.Parallel()
	house.NeedEngine(t)
	h := house.New(t, house.Plan{MaxRunning: 8})
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	status, err := h.Client.Status(h.Context()) // its connection stays
	h.Must(err)
	lift := h.Limit(uint64(h.Files() + 1))
	var waiting []house.Ask
	for n := range 30 {
		waiting = append(waiting, h.Submit(house.Ask{ID: fmt.Sprint("waiting", n), Task: "echo late"}))
	}
	h.Eventually("the operator is told", func() bool {
		status, err = h.Client.Status(h.Context())
		return err == nil && slices.ContainsFunc(status.Outboxes[0].Notices, func(n delegation.Notice) bool { return n.Code == delegation.NoticeDescriptors })
	})
	lift()
	allDone(h, waiting)
	finished(h, running)
	calm(h)
}
