package e2e

import (
	"net/http"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// What the stories count must not be forgotten because others use the engine: it remembers 256 events.
func TestAStartIsCountedWhateverElseHappens(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Docker})
	h.Want(h.Run(house.Ask{ID: "s1", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	for range 150 { // two events each
		made, err := h.Engine.HTTP.Post("http://engine/v1.41/volumes/create", "application/json", strings.NewReader(`{"Name": "torno-test-starts"}`))
		h.Must(err)
		made.Body.Close()
		if made.StatusCode != http.StatusCreated {
			t.Fatal("a volume:", made.Status)
		}
		h.Engine.Delete(t, "/volumes/torno-test-starts")
	}
	if starts := h.Starts(); len(starts) != 1 {
		t.Errorf("one sandbox was started: %v", starts)
	}
}
