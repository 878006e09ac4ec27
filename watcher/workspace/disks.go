package workspace

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// Disks watches what is free on the file systems that workspaces lie on, for as long as anything runs there. Where the
// floor is reached, the run that wrote most is ended, and when the space goes on falling the next one.
//
// One goroutine, Loop, looks and decides. Workspaces join and leave at any time.
type Disks struct {
	floor   Floor
	changed chan struct{} // a workspace joined

	mu     sync.Mutex
	owners map[*Held]Owner
	asked  map[uint64]bool // file systems that owe an answer

	below map[uint64]*shortage // by file system; Loop's own
}

// Owner is the run that works in a workspace.
type Owner interface {
	EndOver(why *delegation.Refusal) // ends the run because of what is in its workspace
	Crowded(why error)               // tells the run's client that there is too little room
	IsEnding() bool
}

// shortage is a file system on which the floor is reached.
type shortage struct {
	mark   tree.Space // what was free when a run was ended
	ending *Held      // where that run works
	at     time.Time
}

// NewDisks watches nothing yet.
func NewDisks(floor Floor) *Disks {
	return &Disks{floor: floor, changed: make(chan struct{}, 1), owners: make(map[*Held]Owner), asked: make(map[uint64]bool), below: make(map[uint64]*shortage)}
}

// How often free space is asked for: often enough that at growthRate the floor is not missed by much.
const (
	closeLook  = 20 * time.Millisecond
	wideLook   = 5 * time.Second
	dyingTime  = 2 * time.Second        // how long a run that was ended may take before the next one is
	askingTime = 100 * time.Millisecond // for finding out which run wrote most
)

// Join has a workspace watched until leave is called.
func (d *Disks) Join(held *Held, owner Owner) (leave func()) {
	d.mu.Lock()
	d.owners[held] = owner
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return func() {
		d.mu.Lock()
		delete(d.owners, held)
		d.mu.Unlock()
	}
}

// Loop runs until ctx is done. While nothing runs it sleeps.
func (d *Disks) Loop(ctx context.Context) {
	timer := time.NewTimer(wideLook)
	defer timer.Stop()
	for {
		pause, runs := d.look(ctx)
		timer.Stop()
		if runs {
			timer.Reset(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		case <-timer.C:
		}
	}
}

// look looks at every file system once, and says when to look again, and whether anything runs there.
func (d *Disks) look(ctx context.Context) (pause time.Duration, runs bool) {
	pause = wideLook
	runs = d.anyRuns()
	for dev, s := range d.spaces() {
		if !d.floor.crossed(s) {
			delete(d.below, dev)
			pause = min(pause, d.distance(s))
			continue
		}
		pause = closeLook
		d.tell(dev, s)
		if d.worse(dev, s) {
			d.endOne(ctx, dev, s)
		}
	}
	return max(pause, closeLook), runs
}

func (d *Disks) anyRuns() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owners) > 0
}

// tell tells the clients of all runs on a file system that the floor is reached there.
func (d *Disks) tell(dev uint64, s tree.Space) {
	why := errors.New(d.floor.short(s))
	for _, owner := range d.on(dev) {
		owner.Crowded(why)
	}
}

// spaces returns the free space of each file system. A file system that does not return within askingTime is left out, and not
// asked again before it has returned.
func (d *Disks) spaces() map[uint64]tree.Space {
	answers := make(chan diskSpace)
	enough := make(chan struct{})
	defer close(enough)
	waiting := 0
	for dev, held := range d.toAsk() {
		waiting++
		go func() {
			s, err := held.Space()
			d.answered(dev)
			select {
			case answers <- diskSpace{dev, s, err}:
			case <-enough:
			}
		}()
	}
	found := make(map[uint64]tree.Space)
	timeout := time.NewTimer(askingTime)
	defer timeout.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case a := <-answers:
			if a.err == nil {
				found[a.dev] = a.space
			}
		case <-timeout.C:
			return found
		}
	}
	return found
}

// diskSpace is what a file system says of itself.
type diskSpace struct {
	dev   uint64
	space tree.Space
	err   error
}

// toAsk is a workspace on each file system that owes no answer.
func (d *Disks) toAsk() map[uint64]*Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	ask := make(map[uint64]*Held)
	for held := range d.owners {
		if dev := held.ID().Dev; !d.asked[dev] {
			ask[dev] = held
		}
	}
	for dev := range ask {
		d.asked[dev] = true
	}
	return ask
}

func (d *Disks) answered(dev uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.asked, dev)
}

// distance is how long it takes at least until the floor is reached.
func (d *Disks) distance(s tree.Space) time.Duration {
	distance := timeFor(s.Bytes-d.floor.Bytes, growthRate)
	if s.Files >= 0 {
		distance = min(distance, timeFor(s.Files-d.floor.Files, filesRate))
	}
	return distance
}

// worse says whether a run has to be ended: none was ended yet, or the last one is gone and the space still falls.
func (d *Disks) worse(dev uint64, now tree.Space) bool {
	s := d.below[dev]
	if s == nil {
		return true
	}
	if s.ending != nil && (!d.watches(s.ending) || time.Since(s.at) > dyingTime) {
		s.ending, s.mark = nil, now
	}
	fell := s.mark.Bytes-now.Bytes > d.floor.Bytes/16 || s.mark.Files-now.Files > d.floor.Files/16
	return s.ending == nil && fell
}

func (d *Disks) watches(held *Held) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owners[held] != nil
}

// endOne ends the run that wrote most on a file system.
func (d *Disks) endOne(ctx context.Context, dev uint64, s tree.Space) {
	most, owner := d.greediest(ctx, dev)
	if owner == nil {
		return
	}
	d.below[dev] = &shortage{mark: s, ending: most.held, at: time.Now()}
	owner.EndOver(&delegation.Refusal{
		Code: delegation.CodeDiskFull, Field: "workspace",
		Text: "The run was ended to keep the disk from filling up: " + d.floor.short(s) + " Of the runs there this one wrote most, " + showBytes(most.bytes) + ".",
		Hint: "Delete what is not needed and ask again with a new request_id, or tell the operator.",
	})
}

// greediest asks each run on a file system that is not ending, for a moment only: what one has written that is busy looking is known by
// the look before.
func (d *Disks) greediest(ctx context.Context, dev uint64) (most growth, owner Owner) {
	owners := d.on(dev)
	maps.DeleteFunc(owners, func(_ *Held, owner Owner) bool { return owner.IsEnding() })
	most.bytes = -1
	take := func(g growth) {
		if g.bytes > most.bytes {
			most, owner = g, owners[g.held]
		}
	}
	answers := make(chan growth, len(owners))
	waiting := 0
	for held := range owners {
		take(growth{held, held.note(tree.Usage{Seen: tree.Seen{Stopped: true}})})
		select {
		case held.asked <- answers:
			waiting++
		default:
		}
	}
	enough := time.NewTimer(askingTime)
	defer enough.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case g := <-answers:
			take(g)
		case <-enough.C:
			return most, owner
		case <-ctx.Done():
			return most, owner
		}
	}
	return most, owner
}

// on are the workspaces on a file system. Their runs may let them go as soon as this returns.
func (d *Disks) on(dev uint64) map[*Held]Owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := make(map[*Held]Owner)
	for held, owner := range d.owners {
		if held.ID().Dev == dev {
			there[held] = owner
		}
	}
	return there
}
