package watcher

import (
	"testing"

	"torno/delegation"
)

// TestANextAttemptKeepsItsParent, whether a watcher was there when the attempt before was lost or not.
func TestANextAttemptKeepsItsParent(t *testing.T) {
	for name, lose := range map[string]func(d *desk){
		"while a watcher is there": func(d *desk) { d.world.Vanish(*d.latest("child").Handle) },
		"while none is": func(d *desk) {
			handle := *d.latest("child").Handle
			d.crash()
			d.world.Vanish(handle)
			d.open()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
			parent := d.submit(ask{id: "parent", task: "sleep"})
			d.started(parent)
			child := d.submit(ask{id: "child", task: "sleep", parent: "parent"})
			d.started(child)
			before := d.latest("child").Descent
			lose(d)
			d.eventually("the second attempt runs", func() bool {
				now := d.latest("child")
				return now.Attempt == 2 && now.State == delegation.StateRunning
			})
			if now := d.latest("child").Descent; now != before {
				t.Errorf("the first attempt stood at %+v, the second stands at %+v", before, now)
			}
			d.touch("cancel_parent")
			d.want(d.response(child), delegation.StatusCancelled, delegation.ReasonParentEnded, -1)
		})
	}
}
