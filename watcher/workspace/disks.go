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

// Disks watches the free space of workspaces, as long as anything runs there. When the space of some reaches the floor,
// Disks ends that run among them which wrote most on its file system. If the free space still falls, it ends the next.
//
// One goroutine, Loop, looks and decides. Workspaces may join and leave at any time.
type Disks struct {
	floor   Floor
	changed chan struct{} // a workspace joined

	mu     sync.Mutex
	owners map[*Held]Owner
	asked  map[uint64]bool // file systems that owe an answer

	below map[uint64]*shortage // by file system; used by Loop only
}

// Owner is the run that works in a workspace.
type Owner interface {
	EndOver(why *delegation.Refusal) // ends the run because of the contents of its workspace
	Crowded(why error)               // tells the run's client that there is too little room
	IsEnding() bool
}

// shortage is the state of a file system that has reached the floor.
type shortage struct {
	mark   tree.Space // the free space when a run was ended
	ending *Held      // the workspace of the ended run
	at     time.Time
}

// NewDisks returns a Disks that watches nothing yet.
func NewDisks(floor Floor) *Disks {
	return &Disks{floor: floor, changed: make(chan struct{}, 1), owners: make(map[*Held]Owner), asked: make(map[uint64]bool), below: make(map[uint64]*shortage)}
}

// How often Disks asks for the free space: often enough to notice the floor in time even if space is used at
// growthRate.
const (
	closeLook  = 20 * time.Millisecond
	wideLook   = 5 * time.Second
	dyingTime  = 2 * time.Second        // an ended run may take so long before the next run is ended
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

// Loop watches until ctx is done. While nothing runs it sleeps.
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

// look asks every workspace once. It returns the time until the next look, and whether anything runs.
func (d *Disks) look(ctx context.Context) (pause time.Duration, runs bool) {
	pause = wideLook
	runs = d.anyRuns()
	for dev, answers := range d.spaces() {
		var low cramped
		for held, s := range answers {
			if d.floor.crossed(s) {
				low.add(held, s)
			} else {
				pause = min(pause, d.distance(s))
			}
		}
		if len(low.on) == 0 {
			delete(d.below, dev)
			continue
		}
		pause = closeLook
		owners := d.ownersOf(low.on)
		tell(owners, d.floor.short(low.least))
		if d.worse(dev, low.least) {
			d.endOne(ctx, dev, owners, low.least)
		}
	}
	return max(pause, closeLook), runs
}

func (d *Disks) anyRuns() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owners) > 0
}

// tell tells the clients of runs that there is too little room for them.
func tell(owners map[*Held]Owner, why string) {
	for _, owner := range owners {
		owner.Crowded(errors.New(why))
	}
}

// cramped are the workspaces of one file system that have too little room.
type cramped struct {
	on    []*Held
	least tree.Space // the least room that one of them has
}

func (c *cramped) add(held *Held, s tree.Space) {
	if len(c.on) == 0 || s.Bytes < c.least.Bytes {
		c.least = s
	}
	c.on = append(c.on, held)
}

// spaces returns the free space of each workspace, by file system. Workspaces of one file system may have different
// answers: with project quotas each directory has the room of its own quota. spaces leaves out a file system that does not
// answer within askingTime, and does not ask it again until it has answered.
func (d *Disks) spaces() map[uint64]map[*Held]tree.Space {
	answers := make(chan diskSpaces)
	enough := make(chan struct{})
	defer close(enough)
	waiting := 0
	for dev, there := range d.toAsk() {
		waiting++
		go func() {
			a := diskSpaces{dev, make(map[*Held]tree.Space)}
			for _, held := range there {
				if s, err := held.Space(); err == nil {
					a.of[held] = s
				}
			}
			d.answered(dev)
			select {
			case answers <- a:
			case <-enough:
			}
		}()
	}
	found := make(map[uint64]map[*Held]tree.Space)
	timeout := time.NewTimer(askingTime)
	defer timeout.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case a := <-answers:
			found[a.dev] = a.of
		case <-timeout.C:
			return found
		}
	}
	return found
}

// diskSpaces is the answer of a file system.
type diskSpaces struct {
	dev uint64
	of  map[*Held]tree.Space
}

// toAsk returns the workspaces of each file system that owes no answer.
func (d *Disks) toAsk() map[uint64][]*Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	ask := make(map[uint64][]*Held)
	for held := range d.owners {
		if dev := held.ID().Dev; !d.asked[dev] {
			ask[dev] = append(ask[dev], held)
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

// distance returns the least time after which the floor may be reached.
func (d *Disks) distance(s tree.Space) time.Duration {
	distance := timeFor(s.Bytes-d.floor.Bytes, growthRate)
	if s.Files >= 0 {
		distance = min(distance, timeFor(s.Files-d.floor.Files, filesRate))
	}
	return distance
}

// worse reports whether another run must be ended: none was ended yet, or the last one is gone and the free space still
// falls.
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

// endOne ends the run that wrote most, of those that have too little room on a file system.
func (d *Disks) endOne(ctx context.Context, dev uint64, owners map[*Held]Owner, s tree.Space) {
	most, owner := greediest(ctx, owners)
	if owner == nil {
		return
	}
	d.below[dev] = &shortage{mark: s, ending: most.held, at: time.Now()}
	owner.EndOver(&delegation.Refusal{
		Code: delegation.CodeDiskFull, Field: "workspace",
		Text: "The run was ended to keep the disk from filling up: " + d.floor.short(s) + " Of the runs there, this run wrote the most, " + showBytes(most.bytes) + ".",
		Hint: "Delete unneeded files and ask again with a new request_id, or tell the operator.",
	})
}

// greediest returns the run that wrote most, without the runs that are already ending. It asks each run and waits only a
// moment. A run that is busy looking cannot answer; the result of its previous look counts.
func greediest(ctx context.Context, owners map[*Held]Owner) (most growth, owner Owner) {
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

// ownersOf returns the runs that work in workspaces. They may close their workspaces as soon as ownersOf returns.
func (d *Disks) ownersOf(there []*Held) map[*Held]Owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	owners := make(map[*Held]Owner)
	for _, held := range there {
		if owner, ok := d.owners[held]; ok {
			owners[held] = owner
		}
	}
	return owners
}
