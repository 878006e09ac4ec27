package pool

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"torno/sandbox"
)

// shelf has the sandboxes of one outbox and one shape. The pool's lock guards it.
type shelf struct {
	outbox string
	shape  sandbox.Shape
	ready  []*held // the oldest first

	closed   bool        // what is being made for it is to be dropped
	expected bool        // it was opened by the configuration, and no request has closed it
	asked    []time.Time // when requests have asked for it, within the last minute; at most maxAsked
	last     time.Time   // when it was asked for last, or opened
	used     int         // sandboxes that runs have claimed
	missed   int         // runs that found none

	trouble string    // why it is not full
	tries   int       // that have failed, one after the other
	again   time.Time // when the next try is made
}

const (
	maxShelves = 64 // a parent chooses which prefixes it names; outboxes share them
	maxAsked   = 64
	recently   = time.Minute
)

// shelfFor finds the shelf of a spec, or opens one; nil where no sandbox can be made ahead for it, or where there is no room. The lock is held.
func (p *Pool) shelfFor(outbox string, spec sandbox.Spec, now time.Time) *shelf {
	shape, err := sandbox.ShapeOf(spec)
	if err != nil || p.closed || p.options.Size == 0 {
		return nil
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return nil
	}
	key := outbox + "\x00" + string(text)
	if s := p.shelves[key]; s != nil {
		return s
	}
	if len(p.shelves) >= maxShelves && !p.makeRoom(outbox, now) {
		return nil
	}
	s := &shelf{outbox: outbox, shape: shape, last: now}
	p.shelves[key] = s
	return s
}

// makeRoom closes the shelf that was asked for longest ago, if nothing is on it and nobody asked recently. Where there is none, the outbox that
// has most shelves closes one for an outbox with two fewer: no parent keeps the others' shelves away by naming prefixes. The lock is held.
func (p *Pool) makeRoom(outbox string, now time.Time) bool {
	counts := map[string]int{}
	for _, s := range p.shelves {
		counts[s.outbox]++
	}
	most := ""
	for other, n := range counts {
		if n > counts[most] {
			most = other
		}
	}
	key := p.longestAgo(func(s *shelf) bool { return len(s.ready) == 0 && now.Sub(s.last) > recently })
	if key == "" && counts[most] >= counts[outbox]+2 {
		key = p.longestAgo(func(s *shelf) bool { return s.outbox == most && !s.expected })
	}
	if key == "" {
		return false
	}
	p.left = append(p.left, p.shelves[key].ready...)
	p.shelves[key].closed = true
	delete(p.shelves, key)
	return true
}

// longestAgo is the key of the shelf that was asked for longest ago, of those that may be closed; "" for none. The lock is held.
func (p *Pool) longestAgo(may func(*shelf) bool) (oldest string) {
	for key, s := range p.shelves {
		if may(s) && (oldest == "" || s.last.Before(p.shelves[oldest].last)) {
			oldest = key
		}
	}
	return oldest
}

// ask notes that a request has asked.
func (s *shelf) ask(now time.Time) {
	s.forget(now)
	if len(s.asked) < maxAsked {
		s.asked = append(s.asked, now)
	}
	s.last = now
}

func (s *shelf) forget(now time.Time) {
	s.asked = slices.DeleteFunc(s.asked, func(at time.Time) bool { return now.Sub(at) > recently })
}

// take takes the oldest sandbox that has not ended. The others stay, to be dropped.
func (s *shelf) take() *held {
	i := slices.IndexFunc(s.ready, func(h *held) bool { return !h.hasEnded() })
	if i < 0 {
		return nil
	}
	h := s.ready[i]
	s.ready, s.tries = slices.Delete(s.ready, i, i+1), 0
	return h
}

// wants is how many sandboxes the shelf should have now.
func (s *shelf) wants(o Options, now time.Time) int {
	s.forget(now)
	switch {
	case o.Size != Auto && s.expected:
		return o.Size
	case now.Sub(s.last) > o.Idle:
		return 0
	case o.Size != Auto:
		return o.Size
	}
	return min(max(1, len(s.asked)), o.Most)
}

// Shelf is how a shelf stands.
type Shelf struct {
	Outbox   string
	Profile  string
	Prefixes []string
	Ready    int
	Wanted   int
	Used     int           // claimed by runs so far
	Missed   int           // runs that found none, so far
	Memory   int64         // bytes, of all that are ready
	Oldest   time.Duration // the age of the oldest
	Trouble  string        // why there are fewer than wanted
}

// Shelves says how the shelves stand, by outbox and profile.
func (p *Pool) Shelves() []Shelf {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Shelf, 0, len(p.shelves))
	for _, s := range p.shelves {
		all = append(all, s.show(p.options, now))
	}
	slices.SortFunc(all, Shelf.compare)
	return all
}

func (s *shelf) show(o Options, now time.Time) Shelf {
	shown := Shelf{Outbox: s.outbox, Profile: s.shape.Profile, Ready: len(s.ready), Wanted: s.wants(o, now), Used: s.used, Missed: s.missed}
	for _, place := range s.shape.Places {
		shown.Prefixes = append(shown.Prefixes, place.Prefix)
	}
	for _, h := range s.ready {
		shown.Memory += h.weight
		shown.Oldest = max(shown.Oldest, now.Sub(h.made))
	}
	if shown.Ready < shown.Wanted {
		shown.Trouble = s.trouble
	}
	return shown
}

func (s Shelf) compare(other Shelf) int {
	return cmp.Or(cmp.Compare(s.Outbox, other.Outbox), cmp.Compare(s.Profile, other.Profile), slices.Compare(s.Prefixes, other.Prefixes))
}
