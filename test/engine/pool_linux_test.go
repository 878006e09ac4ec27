package engine

import (
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestTheEngineDiesWithAFullPool: it is killed, or all power is cut, while sandboxes wait for runs. A request that comes meanwhile waits, as it
// would without a pool, and is done once and in its first attempt. Then the pool is full again, of sandboxes that the engine really has.
func TestTheEngineDiesWithAFullPool(t *testing.T) {
	for name, c := range deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := house.NewPrivate(t, c.plan)
			h := house.New(t, house.Plan{Engine: &engine.Engine, Host: engine.Host(), Mounts: "by-handle", Top: "pool: {size: 2}"})
			h.Want(h.Run(house.Ask{ID: "warm", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			poolIsFull(h)
			before := engine.Containers(t, h.Installation())
			c.down(engine)
			a := h.Submit(house.Ask{ID: "s1", Task: noted})
			c.back(engine)
			onceInOneAttempt(h, a)
			poolIsFull(h)
			onceInOneAttempt(h, h.Submit(house.Ask{ID: "s2", Task: noted}))
			ready := poolIsFull(h)
			h.Eventually("the engine has the pool's sandboxes and no others", func() bool {
				return len(engine.Containers(t, h.Installation())) == ready
			})
			for _, old := range before {
				stillHeld := false
				for _, now := range engine.Containers(t, h.Installation()) {
					stillHeld = stillHeld || now.ID == old.ID && now.State == "running"
				}
				if !stillHeld {
					nothingOf(h, old.ID)
				}
			}
			calm(h)
		})
	}
}

// poolIsFull waits until as many sandboxes are ready as are wanted, and returns how many.
func poolIsFull(h *house.House) (ready int) {
	h.Helper()
	h.Eventually("the pool is full", func() bool {
		status, err := h.Client.Status(h.Context())
		if err != nil {
			return false
		}
		wanted := 0
		ready = 0
		for _, pool := range status.Pools {
			for _, shelf := range pool.Shelves {
				ready, wanted = ready+shelf.Ready, wanted+shelf.Wanted
			}
		}
		return ready == wanted && wanted > 0
	})
	return ready
}
