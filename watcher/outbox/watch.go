package outbox

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"

	"torno/delegation"
)

// Limits for looking through an outbox.
const (
	listChunk    = 64                     // names read at once, and events handled after them
	listYield    = 2                      // events handled after each name
	listAtLeast  = time.Second            // between two listings
	listShare    = 100                    // a listing uses at most 1/listShare of a core
	eventShare   = 2                      // work that a parent can cause at will uses at most 1/eventShare of a core
	eventBurst   = 5 * time.Second        // so much work is done at once without a rest: a thousand requests do not wait
	settle       = 250 * time.Millisecond // a file that does not parse may still be being written for so long
	listAtMost   = time.Minute            // the longest pause between two listings
	dueAgain     = time.Second            // until an unwritten answer is tried again
	maxDue       = 1024                   // the most answers that wait for another try
	clearAfter   = time.Second            // a client that takes its request away may soon remove the response itself
	maxDelayed   = 1024                   // names that wait for a second look
	statusesLast = 24 * time.Hour         // after the end of a run
)

// Watch looks at every file that an event or a listing names, until ctx is done.
func (o *Outbox) Watch(ctx context.Context) {
	if !o.InOwnDirectory() {
		close(o.seen)
		o.awaitReturn(ctx)
		return
	}
	s := newScan(o)
	defer s.notify.close()
	s.subscribe()
	s.run(ctx)
}

// scan is the state of Watch. It decides what to look at next.
type scan struct {
	*Outbox
	notify    notifications
	costs     *costs
	later     *later
	gate      *gate
	requests  *admitter
	leftovers *sweeper

	unnamed, reported int // requests whose names are too long for a response: in this listing, and when last reported
}

func newScan(o *Outbox) *scan {
	s := &scan{Outbox: o, costs: newCosts(), later: newLater(), gate: &gate{log: o.log, held: o.Notices.Flag("")}}
	s.requests = &admitter{Outbox: o, costs: s.costs, gate: s.gate, waits: make(map[string]int)}
	s.leftovers = &sweeper{Outbox: o}
	return s
}

func (s *scan) run(ctx context.Context) {
	runtime.LockOSThread() // the cost is measured by the thread
	defer runtime.UnlockOSThread()
	ctx = s.costs.charge(ctx)
	pause := s.list(ctx)
	close(s.seen)
	listing := time.NewTimer(pause)
	defer listing.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	place := time.NewTicker(awayEvery)
	defer place.Stop()
	for {
		again.Reset(s.later.next())
		select {
		case <-ctx.Done():
			return
		case event := <-s.notify.events():
			s.costs.calmly(ctx, func() { s.event(ctx, event) })
		case err := <-s.notify.errors():
			s.costs.calmly(ctx, func() { s.trouble(err) })
			listing.Reset(0)
		case <-again.C:
			s.costs.calmly(ctx, func() { s.lookAgain(ctx, time.Now()) })
		case name := <-s.owed:
			s.later.answer(name)
		case <-place.C:
			if s.lookAtPlace() {
				listing.Reset(0)
			}
		case <-listing.C:
			listing.Reset(s.list(ctx))
			s.costs.restFromListing(ctx)
		}
	}
}

// lookAtPlace looks whether the outbox is where it was, and asks again for notifications that no longer come. It reports
// whether entries may have come unseen.
func (s *scan) lookAtPlace() bool {
	return s.checkPlace() || s.notify.silent && !s.Away.Load() && s.subscribe()
}

// trouble reports an overflow or a fault of the notifications. A listing follows either.
func (s *scan) trouble(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		s.log.Info("more events than the kernel keeps; listing the outbox instead")
		return
	}
	s.log.Warn("notifications of the outbox failed; listing it instead", "error", err)
}

// event looks at the file that an event names. The watcher's own files cost nothing here.
func (s *scan) event(ctx context.Context, event fsnotify.Event) {
	s.notify.endBy(event, s.Dir.Path())
	if s.Away.Load() {
		return
	}
	name := filepath.Base(event.Name)
	switch kind, raw := delegation.ParseName(name); kind {
	case delegation.KindRequest:
		s.lookAt(ctx, name, raw, false)
	case delegation.KindCancel:
		s.cancelled(ctx, raw)
	case delegation.KindInput:
		s.input(name)
	}
}

// lookAt looks at a request file and notes when to look again.
func (s *scan) lookAt(ctx context.Context, name, rawID string, waited bool) {
	delete(s.later.looks, name)
	if again := s.requests.look(ctx, name, rawID, waited); again > 0 {
		s.later.look(name, again)
	}
}

// lookAgain tries the answers that are due and looks at the requests that are due.
func (s *scan) lookAgain(ctx context.Context, now time.Time) {
	for name, at := range s.later.answers {
		if at.After(now) {
			continue
		}
		delete(s.later.answers, name)
		_, raw := delegation.ParseName(name)
		if s.isRunning(raw) {
			s.later.answer(name) // the run is not quite over
			continue
		}
		s.lookAt(ctx, name, raw, true)
	}
	for name, at := range s.later.looks {
		if at.After(now) {
			continue
		}
		_, raw := delegation.ParseName(name)
		s.lookAt(ctx, name, raw, true)
	}
}

// list goes through the whole outbox. Between chunks it handles events. It returns the pause until the next listing.
func (s *scan) list(ctx context.Context) time.Duration {
	all := s.costs.startListing()
	s.unnamed, s.later.missed = 0, false
	s.checkPlace()
	if s.Away.Load() {
		return listAtLeast
	}
	err := s.Dir.Names(ctx, listChunk, func(names []string) error {
		for _, name := range names {
			s.listed(ctx, name)
			s.drainEvents(ctx, listYield)
		}
		s.costs.calmly(ctx, func() { s.lookAgain(ctx, time.Now()) })
		s.drainEvents(ctx, listChunk)
		return s.stop(ctx)
	})
	if err != nil && ctx.Err() == nil && !s.Away.Load() {
		s.Stumble("list the outbox", err)
	}
	if err == nil {
		s.requests.listed(ctx, s.later.nothing())
	}
	s.reportUnnamed()
	s.lowerOldNotices()
	return s.costs.endListing(all)
}

// lowerOldNotices takes back notices that were not raised again: the request that raised one may be gone.
func (s *scan) lowerOldNotices() {
	s.files.LowerIfOld()
	s.room.LowerIfOld()
	s.gate.forget()
}

// reportUnnamed reports how many requests cannot be answered, but only when there are more than before.
func (s *scan) reportUnnamed() {
	if s.unnamed > s.reported {
		s.log.Warn("some requests have such long names that no response name fits; the watcher leaves these requests alone", "requests", s.unnamed)
	}
	s.reported = s.unnamed
}

// drainEvents handles waiting events, at most the given number, so that a flood of them does not hold up the listing
// for ever.
func (s *scan) drainEvents(ctx context.Context, most int) {
	for range most {
		select {
		case event := <-s.notify.events():
			s.costs.calmly(ctx, func() { s.event(ctx, event) })
		default:
			return
		}
	}
}

// listed handles one name of a listing. It treats requests as events do, and removes files whose request is gone.
func (s *scan) listed(ctx context.Context, name string) {
	switch kind, raw := delegation.ParseName(name); kind {
	case delegation.KindRequest:
		if _, ok := delegation.ResponseNameFor(raw); !ok {
			s.unnamed++
			return
		}
		if !s.later.waits(name) {
			s.lookAt(ctx, name, raw, false)
		}
	case delegation.KindCancel:
		s.cancelled(ctx, raw)
		s.leftovers.orphan(name, raw)
	case delegation.KindResponse, delegation.KindStatus:
		s.leftovers.orphan(name, raw)
	case delegation.KindEvents:
		s.leftovers.orphanSegment(ctx, name)
	case delegation.KindInput:
		s.input(name)
		s.leftovers.orphanInput(ctx, name)
	case delegation.KindOther:
		s.leftovers.orphanTemp(name)
	}
}
