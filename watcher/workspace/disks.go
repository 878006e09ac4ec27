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

// Disks watches the free space of the file systems with workspaces, as long as anything runs there. When a file system
// reaches the floor, Disks ends the run that wrote most there. If the free space still falls, it ends the next.
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

// look looks at every file system once. It returns the time until the next look, and whether anything runs.
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

// tell tells the clients of all runs on a file system that it has reached the floor.
func (d *Disks) tell(dev uint64, s tree.Space) {
	why := errors.New(d.floor.short(s))
	for _, owner := range d.on(dev) {
		owner.Crowded(why)
	}
}

// spaces returns the free space of each file system. It leaves out a file system that does not answer within
// askingTime, and does not ask it again until it has answered.
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

// diskSpace is a file system's answer.
type diskSpace struct {
	dev   uint64
	space tree.Space
	err   error
}

// toAsk returns one workspace on each file system that owes no answer.
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

// endOne ends the run that wrote most on a file system.
func (d *Disks) endOne(ctx context.Context, dev uint64, s tree.Space) {
	most, owner := d.greediest(ctx, dev)
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

// greediest returns the run that wrote most on a file system, without the runs that are already ending. It asks each
// run and waits only a moment. A run that is busy looking cannot answer; the result of its previous look counts.
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

// on returns the workspaces on a file system. Their runs may close them as soon as on returns.
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
