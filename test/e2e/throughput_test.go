package e2e

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// BenchmarkThroughput drops many requests in at once and compares with a bare loop over the engine's API that makes,
// starts, awaits and removes the simplest container as often and with as many at once. The two take turns.
func BenchmarkThroughput(b *testing.B) {
	for _, slots := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint("slots", slots), func(b *testing.B) { throughput(b, slots) })
	}
}

func throughput(b *testing.B, slots int) {
	h := house.New(b, house.Plan{MaxRunning: slots, Extra: "    queue: 1000"})
	h.Run(house.Ask{ID: "warm", Task: "true"})
	image := h.Engine.ImageOf(b, h.Installation())
	const runs = 24
	var ours, bare time.Duration
	for round := 0; b.Loop(); round++ {
		ours += served(h, round, runs)
		bare += looped(h, image, round, runs, slots)
	}
	total := float64(b.N * runs)
	b.ReportMetric(total/ours.Seconds(), "runs/s")
	b.ReportMetric(total/bare.Seconds(), "bare-runs/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-bare")
}

// served is the time from the first request to the last response.
func served(h *house.House, round, runs int) time.Duration {
	h.Helper()
	begin := time.Now()
	asks := make([]house.Ask, runs)
	for i := range asks {
		asks[i] = h.Submit(house.Ask{ID: fmt.Sprintf("r%d-%d", round, i), Task: "true"})
	}
	for _, a := range asks {
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	return time.Since(begin)
}

// looped is the same without Torno.
func looped(h *house.House, image string, round, runs, slots int) time.Duration {
	h.Helper()
	body, err := json.Marshal(map[string]any{
		"Image": image, "Cmd": []string{"/bin/true"}, "NetworkDisabled": true,
		"HostConfig": map[string]any{"NetworkMode": "none", "Binds": []string{"/usr:/usr:ro"}},
	})
	h.Must(err)
	numbers := make(chan int, runs)
	for i := range runs {
		numbers <- i
	}
	close(numbers)
	begin := time.Now()
	var workers sync.WaitGroup
	for range slots {
		workers.Go(func() {
			for i := range numbers {
				id, err := h.Engine.Create(fmt.Sprintf("torno-bare-%d-%d", round, i), body)
				if err != nil {
					h.Error(err)
					return
				}
				h.Engine.Finish(h, id)
				h.Engine.Remove(h, id)
			}
		})
	}
	workers.Wait()
	return time.Since(begin)
}
