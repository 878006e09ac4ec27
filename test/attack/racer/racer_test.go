//go:build linux

// Package racer is a parent that exchanges directories for links as fast as it can while its requests are served: its
// workspace, a directory on the way to it, its context, and a component of the root itself. No child may ever see a byte
// that is not of the directory that was asked for, or write one elsewhere.
package racer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
	"torno/test/weak"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m)) }

const (
	mine   = "mine\n"   // what a child may see
	secret = "secret\n" // what it may not
	owner  = 1000       // of the workspaces, where the watcher is root's
)

// chance is how long a race goes on that has not been lost where there is no defence. It is lost once in ten to fifty tries, and on a busy
// machine a try takes seconds.
const chance = 5 * time.Minute

// enough are the tries after which it counts as won, however long they take: on a busy machine the chance has fewer of them.
const enough = 500

// lane is one way to attack: requests are served along it one after the other, while two directories are exchanged. All
// paths are below the lane's own directory, which the parent and its victim both have.
type lane struct {
	name, root, workspace, context, swapped string
	inner                                   string // a second context, inside the first one; "" for none
	rests                                   int32  // see exchange: a workspace is looked up more often than the rest
	unseen                                  bool   // what is exchanged is above the root, which is held: no defence has to notice
}

var lanes = []lane{
	{name: "workspace", root: ".", workspace: "ws", context: "context", swapped: "ws"},
	{name: "way", root: ".", workspace: "deep/ws", context: "context", swapped: "deep"},
	{name: "context", root: ".", workspace: "ws", context: "context", swapped: "context"},
	{name: "nested", root: ".", workspace: "ws", context: "context", inner: "context/way/inner", swapped: "context/way"},
	{name: "nested-workspace", root: ".", workspace: "a/b/sub", context: "a", swapped: "a/b", rests: 20},
	{name: "root", root: "mid/roots", workspace: "mid/roots/ws", context: "mid/roots/context", swapped: "mid"},
}

// tally is what came of a lane's requests.
type tally struct{ served, refused, fallen int }

func TestRacerByHandle(t *testing.T) {
	race(t, attack.Trial{Row: "M1", Where: "docker by handle"}, house.Plan{Mounts: "by-handle"})
}

func TestRacerInGVisor(t *testing.T) {
	race(t, attack.Trial{Row: "M1", Where: "gvisor by handle"}, house.Plan{Mounts: "by-handle", Sandbox: house.GVisor})
}

// TestRacerAhead is the race for sandboxes that were there before the request: workspace and contexts arrive in them late.
func TestRacerAhead(t *testing.T) {
	for _, sandbox := range house.Launchers {
		t.Run(sandbox, func(t *testing.T) {
			race(t, attack.Trial{Row: "M1", Where: sandbox + " by handle, ahead"}, house.Plan{
				Mounts: "by-handle", Sandbox: sandbox, Top: fmt.Sprintf("pool: {size: 1, most: %d}", 2*len(lanes)),
			})
		})
	}
}

// TestRacerForAnOrdinaryUser: there a keeper finds again what the watcher holds, by a name that may lead elsewhere by then.
func TestRacerForAnOrdinaryUser(t *testing.T) {
	race(t, attack.Trial{Row: "M1", Where: "gvisor not root"}, house.Plan{Sandbox: house.Ordinary, Mounts: "by-handle"})
}

func TestRacerByPath(t *testing.T) {
	race(t, attack.Trial{Row: "M2", Where: "docker by path, with init's proof"}, house.Plan{Mounts: "by-path", Extra: "    owners: [1000]"})
}

// race drives all lanes until enough was served and refused on the whole, and the way without a proof has fallen.
func race(t *testing.T, trial attack.Trial, plan house.Plan) {
	engine := house.NeedEngine(t) // also without one of its own: the naive way is that of an engine
	house.Need(t, plan.Sandbox)
	base, lanes, owner := house.OpenDir(t), slices.Clone(lanes), house.OwnerWith(plan.Sandbox, owner)
	lanes[len(lanes)-1].unseen = plan.Mounts == "by-handle"
	for _, l := range lanes {
		l.lay(t, filepath.Join(base, "parent", l.name), mine, owner)
		l.lay(t, filepath.Join(base, "victim", l.name), secret, owner)
		plan.Allow = append(plan.Allow, filepath.Join(base, "parent", l.name, l.root))
	}
	h := house.New(t, plan)
	h.Want(h.Run(house.Ask{ID: "warm", UID: owner, Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	exchangers := make([]*exchanger, len(lanes))
	tallies := make([]tally, len(lanes))
	end := time.Now().Add(time.Duration(attack.Times(8, 180)) * time.Second)
	var racing sync.WaitGroup
	for i := range lanes {
		l := lanes[i]
		exchangers[i] = exchange(t, filepath.Join(base, "parent", l.name, l.swapped), filepath.Join(base, "victim", l.name, l.swapped), l.rests)
		racing.Go(func() { tallies[i] = l.run(h, filepath.Join(base, "parent", l.name), i, end) })
	}
	naive := &naive{House: h, engine: engine, image: weak.New(t, base).Image, path: filepath.Join(base, "parent", lanes[0].name, lanes[0].workspace)}
	naive.run(end)
	runtime := byEngine(t, engine, naive.image)
	if plan.Sandbox != "" {
		runtime = byRunsc(t)
	}
	racing.Wait()
	for _, x := range exchangers {
		x.rests.Store(0)
	}
	oracles := unguard(lanes, filepath.Join(base, "parent"), runtime)
	var swaps int64
	for _, x := range exchangers {
		swaps += x.halt()
	}
	for i, l := range lanes {
		got := tallies[i]
		t.Logf("%s: served %d, refused %d, fallen %d", l.name, got.served, got.refused, got.fallen)
		trial.Tried += got.served + got.refused + got.fallen
		trial.Held += got.served + got.refused
		if !l.raced(got) {
			t.Errorf("%s: this was no race", l.name)
		}
		l.untouched(t, filepath.Join(base, "victim", l.name))
	}
	if plan.Top != "" && h.FoundReady() == 0 {
		t.Error("no run found a sandbox ready: nothing has arrived late")
	}
	trial.Oracle = naive.fallen > 0
	trial.Note = fmt.Sprintf("%d exchanges; without a proof %d of %d fell", swaps, naive.fallen, naive.tried)
	if swaps < 10_000 {
		t.Errorf("only %d exchanges were made", swaps)
	}
	attack.Record(t, trial)
	for _, oracle := range oracles {
		oracle.record(t, trial, tallies[slices.Index(lanes, oracle.lane)])
	}
}
