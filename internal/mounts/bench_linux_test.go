package mounts

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkMount goes the whole way, over and over: Pin, Clone and Place on one side, Clear on the other. The first
// exchange of ids, which starts a process, is measured apart.
func BenchmarkMount(b *testing.B) {
	w := newWorld(b)
	w.dir("ctx/ws", 1000)
	slot := w.slot()
	var first, place, clears []time.Duration
	for b.Loop() {
		start := time.Now()
		w.ok(w.mount(slot, "ctx/ws", "p/ws", false))
		placed := time.Now()
		w.ok(slot.Clear())
		place, clears = append(place, placed.Sub(start)), append(clears, time.Since(placed))
	}
	for uid := range uint32(50) {
		start := time.Now()
		ids, err := w.maps.Get(Identity{uid, uid}, child)
		w.ok(err)
		first = append(first, time.Since(start))
		w.ok(ids.Close())
	}
	report(b, "place", place)
	report(b, "clear", clears)
	report(b, "idmap", first)
}

func report(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), what+"-p50-µs")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), what+"-p95-µs")
}
