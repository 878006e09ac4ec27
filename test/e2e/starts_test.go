package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// What the stories count must not be forgotten because others use the engine: it remembers 256 events.
func TestAStartIsCountedWhateverElseHappens(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Docker})
	h.Want(h.Run(house.Ask{ID: "s1", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	name := "torno-test-" + h.Installation()
	for range 150 { // two events each
		h.Engine.Post(t, "/volumes/create", fmt.Sprintf(`{"Name": %q}`, name), http.StatusCreated)
		h.Engine.Delete(t, "/volumes/"+name)
	}
	if starts := h.Starts(); len(starts) != 1 {
		t.Errorf("one sandbox was started: %v", starts)
	}
}
