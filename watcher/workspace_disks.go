package watcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// disks watches what is free on the file systems that workspaces lie on, for as long as anything runs there. Where the
// floor is reached, the run that wrote most is ended, and when the space goes on falling the next one.
//
// One goroutine, loop, looks and decides. Runs join and leave at any time.
type disks struct {
	floor   Disk
	changed chan struct{} // somebody joined

	mu    sync.Mutex
	runs  map[*run]bool
	asked map[uint64]bool // file systems that owe an answer

	below map[uint64]*shortage // by file system; loop's own
}

// shortage is a file system on which the floor is reached.
type shortage struct {
	mark   tree.Space // what was free when a run was ended
	ending *run
	at     time.Time
}

func newDisks(floor Disk) *disks {
	return &disks{floor: floor, changed: make(chan struct{}, 1), runs: make(map[*run]bool), asked: make(map[uint64]bool), below: make(map[uint64]*shortage)}
}

// How often free space is asked for: often enough that at growthRate the floor is not missed by much.
const (
	closeLook  = 20 * time.Millisecond
	wideLook   = 5 * time.Second
	dyingTime  = 2 * time.Second        // how long a run that was ended may take before the next one is
	askingTime = 100 * time.Millisecond // for finding out which run wrote most
)

// join has a run watched until leave is called.
func (d *disks) join(r *run) (leave func()) {
	d.mu.Lock()
	d.runs[r] = true
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return func() {
		d.mu.Lock()
		delete(d.runs, r)
		d.mu.Unlock()
	}
}

// loop runs until ctx is done. While nothing runs it sleeps.
func (d *disks) loop(ctx context.Context) {
	timer := time.NewTimer(wideLook)
	defer timer.Stop()
	for {
		pause, any := d.look(ctx)
		timer.Stop()
		if any {
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

// look looks at every file system once, and says when to look again, and whether anybody is there to look for.
func (d *disks) look(ctx context.Context) (pause time.Duration, any bool) {
	pause = wideLook
	any = d.anyRuns()
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
	return max(pause, closeLook), any
}

func (d *disks) anyRuns() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.runs) > 0
}

// tell has everybody who has something running on a file system know that the floor is reached there.
func (d *disks) tell(dev uint64, s tree.Space) {
	boxes := make(map[*outbox]bool)
	d.mu.Lock()
	for r := range d.runs {
		if r.held.ID().Dev == dev {
			boxes[r.box] = true
		}
	}
	d.mu.Unlock()
	for box := range boxes {
		box.room.meet(delegation.NoticeDisk, errors.New(d.floor.short(s)))
	}
}

// spaces is what is free, by file system. One that does not answer within askingTime is left out, and not asked again before
// it has answered.
func (d *disks) spaces() map[uint64]tree.Space {
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
func (d *disks) toAsk() map[uint64]*workspace {
	d.mu.Lock()
	defer d.mu.Unlock()
	ask := make(map[uint64]*workspace)
	for r := range d.runs {
		if dev := r.held.ID().Dev; !d.asked[dev] {
			ask[dev] = r.held
		}
	}
	for dev := range ask {
		d.asked[dev] = true
	}
	return ask
}

func (d *disks) answered(dev uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.asked, dev)
}

// distance is how long it takes at least until the floor is reached.
func (d *disks) distance(s tree.Space) time.Duration {
	distance := timeFor(s.Bytes-d.floor.Floor, growthRate)
	if s.Files >= 0 {
		distance = min(distance, timeFor(s.Files-d.floor.FloorFiles, filesRate))
	}
	return distance
}

// worse says whether a run has to be ended: nobody was yet, or who was is gone and the space still falls.
func (d *disks) worse(dev uint64, now tree.Space) bool {
	s := d.below[dev]
	if s == nil {
		return true
	}
	if s.ending != nil && (!d.watches(s.ending) || time.Since(s.at) > dyingTime) {
		s.ending, s.mark = nil, now
	}
	fell := s.mark.Bytes-now.Bytes > d.floor.Floor/16 || s.mark.Files-now.Files > d.floor.FloorFiles/16
	return s.ending == nil && fell
}

func (d *disks) watches(r *run) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[r]
}

// endOne ends the run that wrote most on a file system.
func (d *disks) endOne(ctx context.Context, dev uint64, s tree.Space) {
	most := d.greediest(ctx, dev)
	if most.run == nil {
		return
	}
	d.below[dev] = &shortage{mark: s, ending: most.run, at: time.Now()}
	most.run.overLimit(&delegation.Refusal{
		Code: delegation.CodeDiskFull, Field: "workspace",
		Text: "The run was ended to keep the disk from filling up: " + d.floor.short(s) + " Of the runs there this one wrote most, " + showBytes(most.bytes) + ".",
		Hint: "Delete what is not needed and ask again with a new request_id, or tell the operator.",
	})
}

// greediest asks each run on a file system, for a moment only: who is busy looking is known by the look before.
func (d *disks) greediest(ctx context.Context, dev uint64) (most growth) {
	most.bytes = -1
	take := func(g growth) {
		if g.bytes > most.bytes {
			most = g
		}
	}
	runs := d.on(dev)
	answers := make(chan growth, len(runs))
	waiting := 0
	for r, held := range runs {
		take(growth{r, held.note(tree.Usage{Seen: tree.Seen{Stopped: true}})})
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
			return most
		case <-ctx.Done():
			return most
		}
	}
	return most
}

// on are the runs on a file system that are not ending, and what they hold: they may let it go as soon as this returns.
func (d *disks) on(dev uint64) map[*run]*workspace {
	d.mu.Lock()
	defer d.mu.Unlock()
	runs := make(map[*run]*workspace)
	for r := range d.runs {
		if r.held.ID().Dev == dev && r.ending.Err() == nil {
			runs[r] = r.held
		}
	}
	return runs
}
