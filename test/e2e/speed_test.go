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

// TestCallsOfAColdRun: a cold run asks the engine eight times: create, attach for the output and for the word, a look at which engine it is
// beside them, start, inspect for the look, wait, remove. Where the watcher's process has to wait for a processor, the engine tells of the end
// before the host sees it, and is asked once more: the best of some runs counts.
func TestCallsOfAColdRun(t *testing.T) {
	r := newRoad(t)
	var calls []house.Call
	for range 25 {
		if _, _, calls = r.once(); len(calls) <= 8 {
			return
		}
	}
	t.Errorf("a cold run cost %d calls: %v", len(calls), calls)
}

// TestTheRoadIsShort: what the watcher adds before and after is small beside one bare call, measured in turn with it. Load only adds to a time, so the
// quietest of some series counts.
func TestTheRoadIsShort(t *testing.T) {
	r := newRoad(t)
	const series = 4
	for range series {
		pickups, answers, bares := r.measure()
		if bare := median(bares); median(pickups) <= bare && median(answers) <= bare {
			return
		}
	}
	t.Errorf("in none of %d series both the way to the create call and the way from the exit to the response took less than a bare create", series)
}

// road is a house whose engine is listened to.
type road struct {
	*house.House
	engine house.Engine
	tap    *house.Proxy
	runs   int
}

func newRoad(t testing.TB) road {
	e := house.NeedEngine(t)
	tap := house.NewProxy(t, e)
	return road{House: house.New(t, house.Plan{Host: tap.Host()}), engine: e, tap: tap}
}

// BenchmarkRoad times what the watcher adds before and after the engine's work, in turn with one bare call for the simplest container.
func BenchmarkRoad(b *testing.B) {
	r := newRoad(b)
	var pickups, answers, bares []time.Duration
	for b.Loop() {
		p, a, c := r.measure()
		pickups, answers, bares = append(pickups, p...), append(answers, a...), append(bares, c...)
	}
	spread(b, "pick-up", pickups)
	spread(b, "answer", answers)
	spread(b, "bare-create", bares)
}

// BenchmarkIdle watches a watcher that has nothing to do, for a minute: without a pool, and with a full one.
func BenchmarkIdle(b *testing.B) {
	b.Run("alone", func(b *testing.B) { idle(b, "") })
	b.Run("pool", func(b *testing.B) { idle(b, "pool: {size: 4}") })
}

func idle(b *testing.B, pool string) {
	h := house.New(b, house.Plan{Top: pool})
	h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if pool != "" {
		awaitReady(b, h)
	}
	var used int
	for b.Loop() {
		before := h.Ticks()
		<-time.After(time.Minute)
		used += h.Ticks() - before
	}
	own, file := h.Memory()
	b.ReportMetric(float64(used)*10/float64(b.N), "cpu-ms-a-minute")
	b.ReportMetric(float64(own)/(1<<20), "MiB-own")
	b.ReportMetric(float64(file)/(1<<20), "MiB-of-its-file")
}

// measure returns times of some runs: from the request's name to the create call, from the child's end to the response, and of a bare create.
func (r *road) measure() (pickups, answers, bares []time.Duration) {
	r.Helper()
	installation := r.Installation()
	const rounds = 15
	for range rounds {
		begin, seen, calls := r.once()
		pickups = append(pickups, one(r, calls, "POST containers/create").Begin.Sub(begin))
		answers = append(answers, seen.Sub(one(r, calls, "POST containers/ID/wait").Done))
		bares = append(bares, bareCreate(r, r.engine, installation))
	}
	r.Logf("p50 of %d: request renamed to create called %s, child gone to response visible %s, bare create %s",
		rounds, median(pickups), median(answers), median(bares))
	r.Logf("worst: pick-up %s, answer %s", slices.Max(pickups), slices.Max(answers))
	return pickups, answers, bares
}

// once has a run from its request to the removal of its sandbox, and returns what the engine was asked meanwhile.
func (r *road) once() (begin, seen time.Time, calls []house.Call) {
	r.Helper()
	since := time.Now()
	r.runs++
	begin, seen = timed(r.House, house.Ask{ID: fmt.Sprint("noop", r.runs), Task: "true"})
	r.Eventually("the sandbox is removed", func() bool { return len(r.engine.Containers(r, r.Installation())) == 0 })
	return begin, seen, r.tap.Calls("", since)
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

// TestAnIdleWatcherIsSmall: what it has of its own, and its program, which grows with what is linked in. Its resident size is the sum: a
// kernel that reads files in large folios maps nearly the whole program, needed or not.
func TestAnIdleWatcherIsSmall(t *testing.T) {
	t.Parallel() // most of it is waiting for Go
	h := house.New(t, house.Plan{Top: "pool: {size: auto}"})
	h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	const watched, most = 4 * time.Second, 4
	const ownMost, fileMost = 10 << 20, 18 << 20
	used := most + 1
	for tries := 0; used > most && tries < 5; tries++ { // the run before may leave work to be done, and load makes all work dearer
		before := h.Ticks()
		<-time.After(watched)
		used = h.Ticks() - before
	}
	own, file := h.Memory()
	for deadline := time.Now().Add(6 * time.Minute); own > ownMost && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		own, file = h.Memory() // what a start has needed is given back at the latest when Go collects it, two minutes after the last time
	}
	t.Logf("an idle watcher holds %.1f MiB, has %.1f of its file mapped, and used %d hundredths of a second in %s",
		float64(own)/(1<<20), float64(file)/(1<<20), used, watched)
	if own > ownMost || file > fileMost {
		t.Errorf("this is more than %d MiB of its own, or than %d of its file", ownMost>>20, fileMost>>20)
	}
	if used > most {
		t.Errorf("an idle watcher used %d hundredths of a second of the processor in %s", used, watched)
	}
}
