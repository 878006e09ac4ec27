package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// TestTheRoadIsShort holds what can be held on a shared machine: how many calls a cold run costs the engine, and that
// what the watcher adds before and after is small beside one bare call, measured in turn with it.
func TestTheRoadIsShort(t *testing.T) {
	e := house.NeedEngine(t)
	tap := house.NewProxy(t, e)
	h := house.New(t, house.Plan{Host: tap.Host()})
	installation := h.Installation()
	const rounds = 15
	var pickup, answer, bare []time.Duration
	for i := range rounds {
		since := time.Now()
		begin, seen := timed(h, house.Ask{ID: fmt.Sprint("noop", i), Task: "true"})
		h.Eventually("the sandbox is removed", func() bool { return len(e.Containers(t, installation)) == 0 })
		calls := tap.Calls("", since)
		if len(calls) > 8 { // create, attach for the output and for the word, a look at which engine it is beside them, start, inspect for the look, wait, remove
			t.Errorf("a cold run cost %d calls: %v", len(calls), calls)
		}
		pickup = append(pickup, one(t, calls, "POST containers/create").Begin.Sub(begin))
		answer = append(answer, seen.Sub(one(t, calls, "POST containers/ID/wait").Done))
		bare = append(bare, bareCreate(t, e, installation))
	}
	p, a, b := median(pickup), median(answer), median(bare)
	t.Logf("p50 of %d: request renamed to create called %s, child gone to response visible %s, bare create %s", rounds, p, a, b)
	t.Logf("worst: pick-up %s, answer %s", slices.Max(pickup), slices.Max(answer))
	if p > b {
		t.Errorf("the way to the create call takes %s, more than a bare create's %s", p, b)
	}
	if a > b {
		t.Errorf("the way from the exit to the response takes %s, more than a bare create's %s", a, b)
	}
}

// timed submits and waits, and tells when the request was renamed and when the response was visible.
func timed(h *house.House, a house.Ask) (begin, seen time.Time) {
	h.Helper()
	a = h.Submit(a)
	response := h.Path("response_" + a.ID + ".json")
	for deadline := time.Now().Add(house.Patience); ; time.Sleep(200 * time.Microsecond) {
		if _, err := os.Stat(response); err == nil {
			seen = time.Now()
			break
		}
		if time.Now().After(deadline) {
			h.Fatal("there is no response to", a.ID)
		}
	}
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	return a.Renamed, seen
}

func one(t testing.TB, calls []house.Call, what string) house.Call {
	t.Helper()
	for _, c := range calls {
		if strings.HasPrefix(c.What, what) {
			return c
		}
	}
	t.Fatalf("no call %q among %v", what, calls)
	return house.Call{}
}

// bareCreate times the engine's own create of the simplest container from the same image, and removes it.
func bareCreate(t testing.TB, e house.Engine, installation string) time.Duration {
	t.Helper()
	body := fmt.Appendf(nil, `{"Image":%q,"Cmd":["true"],"HostConfig":{"NetworkMode":"none"}}`, e.ImageOf(t, installation))
	begin := time.Now()
	id, err := e.Create("torno-bare", body)
	took := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	e.Remove(t, id)
	return took
}

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

func TestAnIdleWatcherIsSmall(t *testing.T) {
	h := house.New(t, house.Plan{})
	h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	before := h.Ticks()
	const watched = 4 * time.Second
	<-time.After(watched)
	used := h.Ticks() - before
	memory := h.Memory()
	for deadline := time.Now().Add(house.Patience / 2); memory > 25<<20 && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		memory = h.Memory() // what a start has needed is given back little by little
	}
	if memory > 25<<20 {
		t.Errorf("an idle watcher holds %d MiB", memory>>20)
	} else {
		t.Logf("an idle watcher holds %.1f MiB and used %d hundredths of a second in %s", float64(memory)/(1<<20), used, watched)
	}
	if used > 4 {
		t.Errorf("an idle watcher used %d hundredths of a second of the processor in %s", used, watched)
	}
}
