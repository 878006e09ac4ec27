package engine

import (
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// alone is a house on the machine's engine.
func alone(t *testing.T, plan house.Plan) *house.House {
	t.Helper()
	t.Parallel()
	house.NeedEngine(t)
	return house.New(t, plan)
}

// notLaunched wants a run that never started, and the reason said.
func notLaunched(h *house.House, resp delegation.Response, why string) {
	h.Helper()
	h.Want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if !strings.Contains(resp.StderrTail, why) {
		h.Errorf("it is not said that %s: %s", why, resp.StderrTail)
	}
}

func TestAContainerIsRemovedByHand(t *testing.T) {
	h := alone(t, house.Plan{})
	a := h.Submit(house.Ask{ID: "s1", Task: until})
	h.Says(a, "ready")
	for _, c := range h.Engine.Containers(t, h.Installation()) {
		h.Engine.Remove(t, c.ID)
	}
	resp := h.Response(a)
	if resp.Reason != delegation.ReasonLost && resp.Reason != delegation.ReasonSignalled {
		t.Errorf("it ended as %s", resp.Reason)
	}
}

func TestAnImageIsMissing(t *testing.T) {
	h := alone(t, house.Plan{
		Profiles: "  imaged:\n    image: torno.test/nowhere:1\n    timeout: {default: 2m, min: 1s, max: 5m}", Offers: ", imaged",
	})
	notLaunched(h, h.Run(house.Ask{ID: "s1", Profile: "imaged", Task: "true"}), "the engine has no image torno.test/nowhere:1")
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAllIsPruned removes all that is not in use, as an operator does for room: the next run brings it back.
func TestAllIsPruned(t *testing.T) {
	h := alone(t, house.Plan{})
	installation := h.Installation()
	for _, what := range []string{"image", "volume", "both"} {
		if what != "volume" {
			h.Engine.Delete(t, "/images/"+h.Engine.ImageOf(t, installation)+"?force=1")
		}
		if what != "image" {
			h.Engine.Delete(t, "/volumes/"+initVolume(h, installation))
		}
		resp := h.Run(house.Ask{ID: what, Task: "echo hello"})
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		h.Eventually("no sandbox is left", func() bool { return len(h.Engine.Containers(t, installation)) == 0 })
	}
}

// initVolume is the name of the volume that holds sandbox-init, which has lost its labels when the engine made it anew.
func initVolume(h *house.House, installation string) string {
	h.Helper()
	var all struct{ Volumes []struct{ Name string } }
	h.Engine.Get(h, "/volumes", &all)
	for _, v := range all.Volumes {
		if strings.HasPrefix(v.Name, "torno-"+installation[:8]+"-init-") {
			return v.Name
		}
	}
	h.Fatal("there is no volume of the installation")
	return ""
}
