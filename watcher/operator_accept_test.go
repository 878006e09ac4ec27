package watcher

import (
	"errors"
	"os"
	"testing"

	"torno/delegation"
	"torno/internal/control"
)

// TestAnOperatorAccepts a directory: as the same outbox, and as another one.
func TestAnOperatorAccepts(t *testing.T) {
	for as, check := range map[control.Identity]func(d *desk, release func(), running ask, id string){
		control.Same: func(d *desk, release func(), running ask, id string) {
			release()
			d.want(d.response(running), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.want(d.response(ask{id: "bait"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			if ran := d.world.Released(); len(ran) != 3 || d.box("main") != id {
				d.Errorf("%d agents ran in outbox %s", len(ran), d.box("main"))
			}
		},
		control.New: func(d *desk, _ func(), running ask, id string) {
			r, ok, err := d.journal.Latest(t.Context(), id, mustID(d, "running"))
			d.must(err)
			if !ok || r.Reason != delegation.ReasonOperator || !r.Answered {
				d.Errorf("the run of the earlier one is %+v", r)
			}
			resp := d.response(running)
			if resp.Error == nil || resp.Error.Code != delegation.CodeJournalLost || d.box("main") == id {
				d.Errorf("a request that was copied with the heartbeat is answered %+v", resp)
			}
			d.eventually("only the sandbox is removed", func() bool {
				left, err := d.fake.List(t0())
				d.must(err)
				return len(left) == 0
			})
		},
	} {
		t.Run(string(as), func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			_, running := d.answered()
			id := d.box("main")
			d.pause()
			d.must(os.Rename(d.outbox, d.outbox+".old"))
			d.must(os.CopyFS(d.outbox, os.DirFS(d.outbox+".old")))
			d.submit(ask{id: "bait", task: "echo bait"})
			d.lead("main", d.outbox)
			d.open()
			if _, err := d.operator().Accept(t.Context(), "nobody", as); !errors.Is(err, control.ErrNoOutbox) {
				t.Error(err)
			}
			if _, err := d.operator().Accept(t.Context(), "main", "perhaps"); err == nil {
				t.Error("a directory can be neither")
			}
			accepted, err := d.operator().Accept(t.Context(), "main", as)
			if err != nil || accepted.Name != "main" || (accepted.ID == id) != (as == control.Same) {
				t.Errorf("it is %+v, %v", accepted, err)
			}
			if _, err := d.operator().Accept(t.Context(), "main", as); !errors.Is(err, control.ErrAsked) {
				t.Errorf("it is accepted twice: %v", err)
			}
			<-d.watcher.Reopen()
			d.pause()
			d.lead("main", d.outbox)
			d.open()
			check(d, release, running, id)
			if _, err := d.operator().Accept(t.Context(), "main", as); !errors.Is(err, control.ErrAsked) {
				t.Errorf("nothing is to be accepted: %v", err)
			}
		})
	}
}
