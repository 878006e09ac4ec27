package e2e

import (
	"fmt"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/test/house"
)

// TestFiftyBeginFromAPoolOfFifty: each of fifty requests that come at once finds one of fifty sandboxes ready. None makes a sandbox, whatever
// the machine has to do meanwhile, so nothing of a launcher is between them and their agents; how long it takes is the report's (make bench).
func TestFiftyBeginFromAPoolOfFifty(t *testing.T) { house.Each(t, fiftyBegin) }

func fiftyBegin(t *testing.T, launcher string) {
	h := fiftyHouse(t, launcher)
	awaitReady(t, h)
	ready := idsOf(h)
	before := missed(t, h)
	asks := fiftyAsks(h, 0)
	begunAfter(t, h, asks)
	used := map[sandbox.SandboxID]bool{}
	for _, a := range asks {
		run, err := h.Client.Run(t.Context(), a.ID)
		h.Must(err)
		if !ready[string(run.SandboxID)] || used[run.SandboxID] {
			t.Errorf("%s runs in the sandbox %s, which was not ready for it (used before: %t)", a.ID, run.SandboxID, used[run.SandboxID])
		}
		used[run.SandboxID] = true
	}
	if n := missed(t, h) - before; n > 0 {
		t.Errorf("%d runs found none ready", n)
	}
	for _, a := range asks {
		h.Touch("cancel_" + a.ID)
	}
	for _, a := range asks {
		h.Want(h.Response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	}
}

// idsOf are the ids of all sandboxes that are there.
func idsOf(h *house.House) map[string]bool {
	h.Helper()
	ids := map[string]bool{}
	for _, s := range h.Sandboxes() {
		ids[s.Sandbox] = true
	}
	return ids
}

// TestABurstOfTenTimesThePool: what is ready is used, once each, and all others make their own sandboxes. None is lost, and none runs twice. That
// none of them waits for the pool is shown where its work hangs (sandbox/pool: TestABurstWaitsForNothing).
func TestABurstOfTenTimesThePool(t *testing.T) { house.Each(t, burst) }

func burst(t *testing.T, launcher string) {
	const size, times = 2, 10
	h := house.New(t, house.Plan{
		Sandbox: launcher, Mounts: "by-handle", MaxRunning: size * times, Top: fmt.Sprintf("pool: {size: %d}", size),
	})
	h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	awaitReady(t, h)
	ready := idsOf(h)
	asks := make([]house.Ask, size*times)
	for i := range asks {
		asks[i] = h.Submit(house.Ask{ID: fmt.Sprint("burst", i), Task: "echo began >>ledger"})
	}
	fromPool, used := 0, map[sandbox.SandboxID]bool{}
	for _, a := range asks {
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if begun := h.Read(a.Workspace + "/ledger"); begun != "began\n" {
			t.Errorf("the agents of %s wrote %q", a.ID, begun)
		}
		run, err := h.Client.Run(t.Context(), a.ID)
		h.Must(err)
		if used[run.SandboxID] {
			t.Errorf("the sandbox %s was used twice", run.SandboxID)
		}
		used[run.SandboxID] = true
		if ready[string(run.SandboxID)] {
			fromPool++
		}
	}
	if fromPool != size {
		t.Errorf("%d of the %d sandboxes that were ready have been used", fromPool, size)
	}
}

// TestAProfileThatCannotBePrepared runs cold beside one whose sandboxes are ready, and `watcher check` says why.
func TestAProfileThatCannotBePrepared(t *testing.T) {
	root := noopRoot(t)
	image := importNoop(t, house.NeedEngine(t), root)
	h := house.New(t, house.Plan{
		Mounts: "by-handle", Top: "pool: {size: 1}", Offers: ", pictured",
		Profiles: "  pictured:\n    image: " + image + "\n    command: [/noop]\n    answer: none\n",
	})
	h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	awaitReady(t, h)
	ready := idsOf(h)
	for i := range 2 {
		id := fmt.Sprint("pictured", i)
		h.Want(h.Run(house.Ask{ID: id, Task: "nothing", Profile: "pictured"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
		run, err := h.Client.Run(t.Context(), id)
		h.Must(err)
		if ready[string(run.SandboxID)] {
			t.Errorf("%s runs in a sandbox that was made ahead for another profile", id)
		}
	}
	status, err := h.Client.Status(t.Context())
	h.Must(err)
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			if shelf.Profile == "pictured" {
				t.Errorf("there is a shelf for it: %+v", shelf)
			}
		}
	}
	out, err := h.Command("watcher", "check", "--config", h.Config).CombinedOutput()
	if !strings.Contains(string(out), sandbox.ErrShapeImage.Error()) {
		t.Errorf("check (%v) does not say that %q:\n%s", err, sandbox.ErrShapeImage, out)
	}
}
