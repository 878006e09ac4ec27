package sandboxtest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"torno/sandbox"
)

// World is the site behind the fakes. Its sandboxes outlive each fake, as containers outlive a watcher. Two fakes of
// one installation stand for a watcher before and after a crash; fakes of two installations are strangers.
type World struct {
	host  func(sandbox.Source) string
	chunk int

	mu         sync.Mutex
	programs   map[string]Program
	guarantees sandbox.Guarantees
	boxes      map[string]*box // by id
	made       int             // how many boxes were ever made
	fakes      []*Fake
	calls      map[Op]*calls
	ledger     ledger
	site       string        // the id of the site that answers now
	clock      time.Duration // how far the wall clock is ahead of the tests' clock
}

// Option changes a World while it is made.
type Option func(*World)

// HostDir sets where a source lies on this machine. Without it, that place is Rel beneath Base.
func HostDir(where func(sandbox.Source) string) Option { return func(w *World) { w.host = where } }

// ChunkSize sets how many bytes a chunk of output has at most (default 16 KiB, as with Docker). With 1, a reader meets
// every possible cut of the output.
func ChunkSize(bytes int) Option { return func(w *World) { w.chunk = bytes } }

// NewWorld makes a site without sandboxes. When the test ends, the world kills everything in it and waits for the end.
func NewWorld(t testing.TB, options ...Option) *World {
	w := &World{
		host:       func(s sandbox.Source) string { return filepath.Join(s.Base, s.Rel) },
		chunk:      16 << 10,
		programs:   make(map[string]Program),
		guarantees: make(sandbox.Guarantees),
		boxes:      make(map[string]*box),
		calls:      make(map[Op]*calls),
		ledger:     newLedger(),
		site:       FirstSite,
	}
	for name, word := range vocabulary {
		w.programs[name] = word.program
	}
	w.programs[notExecutable] = func(context.Context, ProgramIO) int { return 126 }
	for _, key := range sandbox.GuaranteeKeys {
		w.guarantees[key] = sandbox.Guarantee{Enforced: true, By: "the fake"}
	}
	for _, option := range options {
		option(w)
	}
	t.Cleanup(w.close)
	return w
}

// Launcher makes a new fake of an installation. The fake has the sandboxes that earlier fakes of the installation left.
func (w *World) Launcher(installation string) *Fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &Fake{world: w, installation: installation, site: w.site, crashed: make(chan struct{}), attached: make(map[*attachment]bool)}
	w.fakes = append(w.fakes, f)
	return f
}

// Register makes a program known under a name, which argv[0] calls it by.
func (w *World) Register(name string, program Program) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.programs[name] = program
}

// Enforce changes Check's answer about a key. A spec that demands a guarantee which is not enforced is refused.
func (w *World) Enforce(key sandbox.GuaranteeKey, enforced bool, by string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guarantees[key] = sandbox.Guarantee{Enforced: enforced, By: by}
}

// Vanish takes a sandbox away behind its launcher's back, as a person does with `docker rm -f`.
func (w *World) Vanish(h sandbox.Handle) {
	w.mu.Lock()
	b := w.boxes[h.ID]
	delete(w.boxes, h.ID)
	w.mu.Unlock()
	if b != nil {
		b.vanish()
	}
}

// SetClock puts the wall clock ahead of the tests' clock by this much. Init and the site tell times by the wall clock.
func (w *World) SetClock(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = by
}

// now returns the time of the wall clock.
func (w *World) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Round(0).Add(w.clock)
}

// close ends everything that runs. It crashes the fakes first, because a sandbox may wait for an attachment to read.
func (w *World) close() {
	w.mu.Lock()
	fakes, boxes := w.fakes, maps.Clone(w.boxes)
	w.mu.Unlock()
	for _, f := range fakes {
		f.Crash()
	}
	for _, b := range boxes {
		b.end()
	}
}

// check returns the present guarantees.
func (w *World) check() sandbox.Guarantees {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.guarantees)
}

// program returns the program of a name, or nil.
func (w *World) program(name string) Program {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.programs[name]
}

// add gives a box the next id and adds it, unless the box of its sandbox is there already.
func (w *World) add(b *box) *box {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there := w.known(b.installation, b.sandbox); there != nil {
		return there
	}
	w.made++
	b.site = w.site
	b.number, b.id, b.slot = w.made, fmt.Sprintf("box-%d", w.made), w.freeSlot(b.installation)
	w.boxes[b.id] = b
	w.ledger.created = append(w.ledger.created, b.sandbox)
	return b
}

// known returns the box of a sandbox, or nil. The caller holds the lock.
func (w *World) known(installation string, id sandbox.SandboxID) *box {
	for _, b := range w.boxes {
		if b.installation == installation && b.sandbox == id && b.site == w.site {
			return b
		}
	}
	return nil
}

// freeSlot returns the lowest slot that no box of the installation has. The caller holds the lock.
func (w *World) freeSlot(installation string) int {
	taken := make(map[int]bool)
	for _, b := range w.boxes {
		if b.installation == installation {
			taken[b.slot] = true
		}
	}
	slot := 0
	for taken[slot] {
		slot++
	}
	return slot
}
