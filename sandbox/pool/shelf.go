package pool

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"torno/sandbox"
)

// shelf keeps the sandboxes of one outbox and one shape. The pool's lock guards it.
type shelf struct {
	outbox string
	shape  sandbox.Shape
	ready  []*held // oldest first

	closed   bool        // drop a sandbox that is still being made for it
	expected bool        // the configuration opened it, not a request
	asked    []time.Time // times of requests in the last minute; at most maxAsked
	last     time.Time   // time of the last request, or of the opening
	used     int         // sandboxes that runs have claimed
	missed   int         // runs that found none

	trouble string    // why it is not full
	tries   int       // failed tries in a row
	again   time.Time // time of the next try
}

const (
	maxShelves = 64 // for all outboxes: a parent could open any number by naming prefixes
	maxAsked   = 64
	recently   = time.Minute
)

// shelfFor returns the shelf of a spec, and opens one if necessary. It returns nil if no sandbox can be made ahead for
// the spec, or if there is no room for a shelf. The lock is held.
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

// makeRoom closes the empty shelf that was asked for longest ago, unless it was asked for recently. If there is none,
// the outbox with the most shelves loses one, if the asking outbox has at least two fewer. So no parent shuts out the
// others by naming many prefixes. The lock is held.
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

// longestAgo returns the key of the shelf that was asked for longest ago, among the shelves that may be closed; "" for
// none. The lock is held.
func (p *Pool) longestAgo(may func(*shelf) bool) (oldest string) {
	for key, s := range p.shelves {
		if may(s) && (oldest == "" || s.last.Before(p.shelves[oldest].last)) {
			oldest = key
		}
	}
	return oldest
}

// ask notes that a request asked for the shelf.
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

// take removes and returns the oldest sandbox that has not ended. Ended ones stay on the shelf, to be dropped.
func (s *shelf) take() *held {
	i := slices.IndexFunc(s.ready, func(h *held) bool { return !h.hasEnded() })
	if i < 0 {
		return nil
	}
	h := s.ready[i]
	s.ready, s.tries = slices.Delete(s.ready, i, i+1), 0
	return h
}

// wants returns the number of sandboxes that the shelf should have now.
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

// Shelf is the state of a shelf.
type Shelf struct {
	Outbox   string
	Profile  string
	Prefixes []string
	Ready    int
	Wanted   int
	Used     int           // claimed by runs so far
	Missed   int           // runs that found none, so far
	Memory   int64         // bytes, of all ready sandboxes
	Oldest   time.Duration // age of the oldest ready sandbox
	Trouble  string        // why there are fewer than wanted
}

// Shelves returns the state of every shelf, sorted by outbox and profile.
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
