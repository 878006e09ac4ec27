package work

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

func TestMain(m *testing.M) {
	Counter()
	os.Exit(house.Main(m))
}

// runs are how many are counted at most: what is left to chance only adds, so the least counts.
const runs = 25

func TestARunCostsTheEngineNoMore(t *testing.T) {
	tap := house.NewProxy(t, house.NeedEngine(t))
	h := house.New(t, house.Plan{Host: tap.Host()})
	run(h, "warm")
	const what = "docker: engine calls"
	most, least := Bound(t, what), 1<<30
	for i := 0; i < runs && least > most; i++ {
		since := time.Now()
		run(h, fmt.Sprint("counted", i))
		least = min(least, len(tap.Calls("", since)))
	}
	Hold(t, what, least)
}

func TestARunCostsTheKernelNoMore(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		house.Need(t, sandbox)
		h := house.New(t, house.Plan{Sandbox: sandbox, Uncounted: true})
		for i := range 3 {
			run(h, fmt.Sprint("warm", i))
		}
		what := sandbox + ": system calls"
		most, least := Bound(t, what), Calls{0: 1 << 30}
		for i := 0; i < runs && least.Sum() > most; i++ {
			calls, err := Count(h.PID(), func() { run(h, fmt.Sprint("counted", i)) })
			if errors.Is(err, ErrForbidden) && os.Getenv("CI") != "true" {
				t.Skip("NOT SHOWN HERE:", err)
			}
			h.Must(err)
			if calls.Sum() < least.Sum() {
				least = calls
			}
		}
		t.Log("by their numbers:", least)
		Hold(t, what, least.Sum())
	})
}

// run is a whole run, until nothing is left of it.
func run(h *house.House, id string) {
	h.Helper()
	h.Want(h.Run(house.Ask{ID: id, Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Eventually("the sandbox is removed", func() bool { return len(h.Sandboxes()) == 0 })
}
