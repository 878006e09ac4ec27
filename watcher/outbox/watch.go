package outbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/limit"
	"torno/watcher/notice"
)

// How an outbox is looked through.
const (
	listChunk    = 64                     // names that are read at once, and events that are handled after them
	listYield    = 2                      // events that are handled after each name
	listAtLeast  = time.Second            // between two listings
	listShare    = 100                    // a listing costs at most 1/listShare of a core
	eventShare   = 2                      // what a parent can bring about at will costs at most 1/eventShare of a core
	eventBurst   = 5 * time.Second        // after so much work at once: a thousand requests do not wait
	settle       = 250 * time.Millisecond // a file that does not parse may still be being written for so long
	listAtMost   = time.Minute            // the longest pause between two listings
	dueAgain     = time.Second            // until an answer that could not be written is tried again
	maxDue       = 1024                   // the most answers that wait for another try
	clearAfter   = time.Second            // a client that takes its request away may be about to remove the response itself
	maxDelayed   = 1024                   // names that wait for a second look
	statusesLast = 24 * time.Hour         // after the end of a run
)

// Watch looks at every file that an event or a listing names, until ctx is done.
func (o *Outbox) Watch(ctx context.Context) error {
	if o.elsewhere != nil {
		o.awaitReturn(ctx)
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the outbox %s: %w (see fs.inotify.max_user_instances)", o.Dir.Path(), err)
	}
	defer notify.Close()
	if err := notify.Add(o.Dir.Path()); err != nil {
		return fmt.Errorf("watch the outbox %s: %w", o.Dir.Path(), err)
	}
	s := &scan{
		Outbox: o, notify: notify, delayed: make(map[string]time.Time), due: make(map[string]time.Time), share: limit.Share{Of: eventShare, Burst: eventBurst, Longest: limit.LongestRest},
		held: o.Notices.Flag(""),
	}
	s.meters.Others = s.written.Used
	return s.run(ctx)
}

// scan is the state of Watch.
type scan struct {
	*Outbox
	notify  *fsnotify.Watcher
	delayed map[string]time.Time // names to look at again, and when
	due     map[string]time.Time // requests whose answer could not be written, and when to try again
	first   bool                 // no listing has come to its end since the outbox is served
	missed  bool                 // this listing found more names to look at again than are kept
	gate    gate                 // before the journal
	held    *notice.Flag         // the flag that is up while the journal fails
	share   limit.Share          // for events: a parent makes them faster than they can be looked at

	meters            limit.Meters
	written           journal.Bill  // what the journal's writer has done for it
	spentElsewhere    limit.Effort  // of the last listing: what was spent on requests
	cost              time.Duration // and on listing
	unnamed, reported int           // requests for whose name no response name fits: in this listing, and when last said
}

// spend notes that what a meter shows is none of the listing's cost.
func (s *scan) spend(m limit.Meter) { s.spentElsewhere = s.spentElsewhere.Plus(m.SoFar()) }

func (s *scan) run(ctx context.Context) error {
	runtime.LockOSThread() // what it costs is measured by the thread
	defer runtime.UnlockOSThread()
	ctx = journal.Charge(ctx, &s.written)
	s.first = true
	pause := s.list(ctx)
	listing := time.NewTimer(pause)
	defer listing.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	place := time.NewTicker(awayEvery)
	defer place.Stop()
	for {
		again.Reset(s.nextDelayed())
		select {
		case <-ctx.Done():
			return nil
		case event := <-s.notify.Events:
			s.calmly(ctx, func() { s.event(ctx, event) })
		case err := <-s.notify.Errors:
			s.calmly(ctx, func() { s.trouble(err) })
			listing.Reset(0)
		case <-again.C:
			s.calmly(ctx, func() { s.lookAgain(ctx) })
		case name := <-s.owed:
			s.putOff(name)
		case <-place.C:
			if s.checkPlace() {
				listing.Reset(0)
			}
		case <-listing.C:
			listing.Reset(s.list(ctx))
			s.share.Pause(ctx, s.cost) // a parent can bring listings about by overflows of the event queue
		}
	}
}

// calmly does what a parent can bring about as often as it likes, and rests in proportion. The rest is none of a listing's
// cost.
func (s *scan) calmly(ctx context.Context, do func()) {
	doing := s.meters.Start()
	do()
	done := doing.SoFar()
	defer s.spend(s.meters.Start())
	s.share.Pause(ctx, done.Work())
}

// trouble is an overflow or a fault of the notifications: a listing follows either.
func (s *scan) trouble(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		s.log.Info("more events than the kernel keeps; listing the outbox instead")
		return
	}
	s.log.Warn("notifications of the outbox failed; listing it instead", "error", err)
}

// event looks at what an event names. The watcher's own files cost nothing here.
func (s *scan) event(ctx context.Context, event fsnotify.Event) {
	if s.Away.Load() {
		return
	}
	name := filepath.Base(event.Name)
	switch kind, raw := delegation.ParseName(name); kind {
	case delegation.KindRequest:
		s.lookAt(ctx, name, raw, false)
	case delegation.KindCancel:
		s.cancelled(ctx, raw)
	}
}

// lookAt looks at a request file and notes when to look again.
func (s *scan) lookAt(ctx context.Context, name, rawID string, waited bool) {
	delete(s.delayed, name)
	again := s.look(ctx, name, rawID, waited)
	switch {
	case again > 0 && len(s.delayed) < maxDelayed:
		s.delayed[name] = time.Now().Add(again)
	case again > 0:
		s.missed = true
	}
}

func (s *scan) lookAgain(ctx context.Context) {
	now := time.Now()
	s.answerDue(ctx, now)
	for name, at := range s.delayed {
		if at.After(now) {
			continue
		}
		_, raw := delegation.ParseName(name)
		s.lookAt(ctx, name, raw, true)
	}
}

// nextDelayed is how long until a delayed name is due.
func (s *scan) nextDelayed() time.Duration {
	next := time.Hour
	for _, later := range []map[string]time.Time{s.delayed, s.due} {
		for _, at := range later {
			next = min(next, max(time.Until(at), 0))
		}
	}
	return next
}

// list goes through the whole outbox, letting events through between chunks, and returns the pause until the next time.
func (s *scan) list(ctx context.Context) time.Duration {
	all := s.meters.Start()
	s.spentElsewhere, s.unnamed, s.missed = limit.Effort{}, 0, false
	if s.checkPlace(); s.Away.Load() {
		return listAtLeast
	}
	err := s.Dir.Names(ctx, listChunk, func(names []string) error {
		for _, name := range names {
			s.listed(ctx, name)
			s.drainEvents(ctx, listYield)
		}
		s.calmly(ctx, func() { s.lookAgain(ctx) })
		s.drainEvents(ctx, listChunk)
		return s.stop(ctx)
	})
	if err != nil && ctx.Err() == nil && !s.Away.Load() {
		s.Stumble("list the outbox", err)
	}
	if err == nil {
		s.first = false
		s.lookedThrough(ctx)
	}
	s.reportUnnamed()
	s.lowerOldNotices()
	s.cost = all.SoFar().Minus(s.spentElsewhere).Work()
	return pauseAfter(s.cost)
}

// pauseAfter is the time from a listing of some cost to the next one.
func pauseAfter(cost time.Duration) time.Duration {
	if cost > listAtMost/listShare {
		return listAtMost
	}
	return max(listAtLeast, listShare*cost)
}

// reportUnnamed says how many requests cannot be answered, once and not with every listing.
func (s *scan) reportUnnamed() {
	if s.unnamed > s.reported {
		s.log.Warn("requests have names for which no response name fits; they are left alone", "requests", s.unnamed)
	}
	s.reported = s.unnamed
}

// drainEvents handles events that came meanwhile, a bounded number, so that a flood of them does not end the listing.
func (s *scan) drainEvents(ctx context.Context, most int) {
	for range most {
		select {
		case event := <-s.notify.Events:
			s.calmly(ctx, func() { s.event(ctx, event) })
		default:
			return
		}
	}
}

// listed handles one name of a listing: requests as events do, and what is left behind without its request.
func (s *scan) listed(ctx context.Context, name string) {
	switch kind, raw := delegation.ParseName(name); kind {
	case delegation.KindRequest:
		if _, ok := delegation.ResponseNameFor(raw); !ok {
			s.unnamed++
			return
		}
		if _, waiting := s.delayed[name]; !waiting {
			s.lookAt(ctx, name, raw, false)
		}
	case delegation.KindCancel:
		s.cancelled(ctx, raw)
		s.orphan(name, raw)
	case delegation.KindResponse, delegation.KindStatus:
		s.orphan(name, raw)
	case delegation.KindEvents:
		s.orphanSegment(ctx, name)
	case delegation.KindOther:
		s.orphanTemp(name)
	}
}
