package watcher

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"torno/delegation"
)

// TestAStorm lets careless and hostile clients do everything at once with a few names. Whatever became of it all, nothing
// ran twice or beside itself, and who asks in the end is answered.
func TestAStorm(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].Queue = 2, 8 })
	steps := 400
	if testing.Short() {
		steps = 150
	}
	dice := rand.New(rand.NewPCG(1, 2))
	clients := []*ask{{id: "s0"}, {id: "s1"}, {id: "s2"}, {id: "s3"}}
	for step := range steps {
		d.rave(clients[dice.IntN(len(clients))], step, dice)
	}
	for _, c := range clients { // what they leave would hold the slots
		d.must(os.RemoveAll(filepath.Join(d.outbox, "request_"+c.id+".json")))
		d.must(os.RemoveAll(filepath.Join(d.outbox, "response_"+c.id+".json")))
		d.must(os.RemoveAll(filepath.Join(d.outbox, "cancel_"+c.id))) // of the same tick of the clock it would count
	}
	for _, c := range clients {
		id := c.id
		d.want(d.response(d.submit(ask{id: id, request: "last", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if n := d.world.MostAtOnce(id); n > 1 {
			t.Errorf("%d runs of %s at once", n, id)
		}
	}
	d.onceEach()
	if shared := d.world.SharedWorkspaces(); len(shared) != 0 {
		t.Errorf("workspaces were shared: %v", shared)
	}
}

// rave is one step of a client without manners. What fails because of the watcher or of itself does not matter.
func (d *desk) rave(last *ask, step int, dice *rand.Rand) {
	request := filepath.Join(d.outbox, "request_"+last.id+".json")
	switch dice.IntN(10) {
	case 0, 1, 2, 3:
		*last = ask{id: last.id, request: fmt.Sprint("r", step), task: []string{"sleep", "echo", "ignore-term"}[dice.IntN(3)]}
		d.submit(*last)
		if dice.IntN(2) == 0 {
			d.eventually("it is noticed", func() bool {
				r, ok, err := d.journal.Latest(t0(), d.box("main"), mustID(d, last.id))
				d.must(err)
				return ok && r.Request.String() == last.request
			})
		}
	case 4:
		if last.request != "" {
			d.submit(*last)
		}
	case 5:
		os.RemoveAll(request)
	case 6:
		os.WriteFile(filepath.Join(d.outbox, "cancel_"+last.id), nil, 0o644)
	case 7:
		os.Chmod(request, 0o600+os.FileMode(dice.IntN(2)*0o44))
	case 8:
		os.Remove(request)
		syscall.Mkfifo(request, 0o644)
	case 9:
		os.Mkdir(filepath.Join(d.outbox, "response_"+last.id+".json"), 0o755)
		os.Link(request, filepath.Join(d.outbox, fmt.Sprint("link", step)))
	}
}
