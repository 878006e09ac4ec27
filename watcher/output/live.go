package output

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"torno/delegation"
)

// Bounds of live output. A child that prints faster than segmentPace lets through is shown with gaps; its tails and the
// launcher's log are not affected.
const (
	segmentBytes = 32 << 10 // of output; encoded, a segment stays under 64 KiB
	SegmentAge   = 250 * time.Millisecond
	segmentPace  = 50 * time.Millisecond
	// An agent says several things at once, and then thinks. So events that follow another segment are published after
	// a short wait (gather) for the events that belong to them, and need not wait for SegmentAge. That makes small
	// segments, and each of them costs the host some calls. So there is an allowance of such early segments. It is
	// enough for ten seconds of lines that come one by one, and it fills again slowly. Each KiB in a segment counts as
	// one more, so that a flood uses the allowance up.
	gather     = 2 * time.Millisecond
	earlyBurst = 1200
	earlyEach  = 40 * time.Millisecond
	earlyUnit  = 1 << 10
	pieceCost  = 128
	heldPiece  = 8 << 10 // size of a piece that waits for the end of its chunk: settle makes segments of whole pieces
)

// Live publishes a run's live output as immutable files.
type Live struct {
	Note    func() // called before a segment is published, or nil
	Publish func(seq int, events []delegation.Event) error
	Remove  func(seq int)
	Report  func(error)
	Last    func() int64  // returns the number of the run's last kept event; nil if no events are kept
	Told    chan struct{} // has a value when the host has said something; nil if nobody waits for that

	mu sync.Mutex // guards the fields below

	Seq     int                // number of the last segment
	segment []delegation.Event // events of the last segment
	inside  bool               // a chunk is being taken
	lines   int64              // number of the last event
	over    bool               // an event said that the run has ended
	asked   int                // the last question that an event has shown
	decided int                // how many decisions events have told
	pending []piece
	size    int
	flushed time.Time

	burst   int // segments that an agent may fill at once
	granted time.Time

	early allowance // of early segments: while some are left, the next segment need not wait for SegmentAge
	kept  kept
}

// allowance is a bucket that fills with time.
type allowance struct {
	left int
	at   time.Time // when it last filled
}

// fill adds one for each period (each) that has gone by, up to most.
func (a *allowance) fill(now time.Time, each time.Duration, most int) {
	if a.at.IsZero() {
		a.left, a.at = most, now
		return
	}
	if more := now.Sub(a.at) / each; more > 0 {
		a.left = min(most, a.left+int(min(more, time.Duration(most))))
		a.at = a.at.Add(now.Sub(a.at).Truncate(each))
	}
}

// piece is an event before it is encoded. Neighbouring output of one stream grows into one piece.
type piece struct {
	at     time.Time
	kind   delegation.EventType
	data   []byte
	state  delegation.State
	reason delegation.Reason
	done   *delegation.Event // a complete event of the agent or the host; nil for the rest
	weight int               // size of done in a segment
}

// add appends output to the pending segment.
func (s *Live) add(kind delegation.EventType, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside = true
	defer func() { s.inside = false }()
	for len(data) > 0 {
		room := segmentBytes - s.size - pieceCost
		if room <= utf8.UTFMax {
			s.flushOrSkip()
			continue
		}
		n := wholeRunes(data, room)
		s.grow(kind, data[:n])
		data = data[n:]
	}
}

func (s *Live) grow(kind delegation.EventType, data []byte) {
	s.size += len(data)
	if last := len(s.pending) - 1; last >= 0 && s.pending[last].kind == kind {
		s.pending[last].data = append(s.pending[last].data, data...)
		return
	}
	s.push(piece{kind: kind, data: append([]byte(nil), data...)})
}

// hold appends output that is not an agent's line to the pending pieces. Like happened, it writes nothing: a note in
// the middle of the chunk would say that the chunk's later lines were taken.
func (s *Live) hold(kind delegation.EventType, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(data) > 0 {
		n := wholeRunes(data, heldPiece)
		if last := len(s.pending) - 1; last >= 0 && s.pending[last].kind == kind && len(s.pending[last].data)+n > heldPiece {
			s.push(piece{kind: kind})
		}
		s.grow(kind, data[:n])
		data = data[n:]
	}
}

// isHosts reports whether the piece is a word of the host: such a piece is not dropped.
func (p piece) isHosts() bool {
	return p.kind == delegation.EventState || p.kind == delegation.EventAsked || p.kind == delegation.EventDecided
}

// size returns how much the piece counts in a segment.
func (p piece) size() int {
	return pieceCost + p.weight + len(p.data)
}

func (s *Live) push(p piece) {
	p.at = time.Now().UTC()
	s.pending = append(s.pending, p)
	s.size += pieceCost
}

// State records a move of the run.
func (s *Live) State(state delegation.State, reason delegation.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(piece{kind: delegation.EventState, state: state, reason: reason})
}

// Due returns how long the pending pieces may still wait to be published. SegmentAge is the longest.
func (s *Live) Due() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return SegmentAge
	}
	now := time.Now()
	age := SegmentAge
	s.early.fill(now, earlyEach, earlyBurst)
	if s.early.left > 0 {
		age = gather
	}
	return max(0, age-now.Sub(s.pending[0].at))
}

// Tell records an event of the host about a question of the agent. It is published with the next output, or soon.
func (s *Live) Tell(e delegation.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // every event can be encoded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += len(text)
	s.push(piece{kind: e.Type, done: &e, weight: len(text)})
	select {
	case s.Told <- struct{}{}:
	default:
	}
}

// happened records an agent's event, as its adapter's line says it. It writes nothing: settle writes when the whole
// chunk was taken, so that the note of the output agrees with the published segments.
func (s *Live) happened(e delegation.Event, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	weight := len(line)
	for _, longer := range []string{"\u2028", "\u2029"} { // three bytes each, and six when they are encoded
		weight += 3 * bytes.Count(line, []byte(longer))
	}
	s.size += weight
	s.push(piece{kind: e.Type, done: &e, weight: weight})
}

// settle makes room after a chunk. If nothing was published for a while, it publishes the pending pieces at once;
// otherwise Due says when.
func (s *Live) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size > segmentBytes {
		if !s.mayWrite() {
			s.skip()
			return
		}
		s.writeSome()
	}
	if time.Since(s.flushed) >= SegmentAge {
		s.write()
	}
}

// segmentBurst is how many segments an agent may fill at once, for example with a file that a tool has read.
const segmentBurst = 16

// mayWrite takes one segment from the burst, and reports whether there was one left. The burst grows by one each
// segmentPace.
func (s *Live) mayWrite() bool {
	now := time.Now()
	if more := int(min(segmentBurst, now.Sub(s.granted)/segmentPace)); more > 0 {
		s.burst, s.granted = min(segmentBurst, s.burst+more), now
	}
	s.burst--
	if s.burst < 0 {
		s.burst = 0
		return false
	}
	return true
}

// writeSome publishes as many of the pending pieces as fit into one segment.
func (s *Live) writeSome() {
	all, n, size, inside := s.pending, 1, s.pending[0].size(), s.inside
	for n < len(all) && size+all[n].size() <= segmentBytes {
		size += all[n].size()
		n++
	}
	s.pending, s.inside = all[:n:n], inside || n < len(all)
	s.write()
	s.pending, s.inside = all[n:], inside
	for _, p := range s.pending {
		s.size += p.size()
	}
}

// gap records that output was lost.
func (s *Live) gap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(piece{kind: delegation.EventGap})
}

// flushOrSkip makes room: it publishes a segment, or drops output that came too fast. Words of the host are not
// dropped. If they leave no room, they are published, however soon: questions have a rate of their own.
func (s *Live) flushOrSkip() {
	if time.Since(s.flushed) < segmentPace {
		s.skip()
		if s.size <= segmentBytes/2 {
			return
		}
	}
	s.writeAll()
}

// skip drops pending output, and records a gap.
func (s *Live) skip() {
	kept, size := s.pending[:0], 0
	for _, p := range s.pending {
		if p.isHosts() {
			kept = append(kept, p)
			size += p.size()
		}
	}
	s.pending, s.size = kept, size
	s.push(piece{kind: delegation.EventGap})
}

// Flush publishes the pending pieces.
func (s *Live) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeAll()
}

// writeAll publishes the pending pieces, in as many segments as they need: in a flood, more words of the host may wait
// than fit into one segment.
func (s *Live) writeAll() {
	for s.size > segmentBytes {
		s.writeSome()
	}
	s.write()
}

// write publishes the pending pieces as one segment, and drops the oldest segments over the bound.
func (s *Live) write() {
	if len(s.pending) == 0 {
		return
	}
	s.countOn()
	events, size := make([]delegation.Event, 0, len(s.pending)), 0
	for _, p := range s.pending {
		size += p.size()
		s.lines++
		events = append(events, p.event(s.lines))
		s.over = s.over || p.state == delegation.StateEnded
		switch {
		case p.done == nil || p.done.Approval == nil:
		case p.kind == delegation.EventAsked:
			s.asked = max(s.asked, p.done.Approval.Approval)
		case p.kind == delegation.EventDecided:
			s.decided++
		}
	}
	s.early.fill(time.Now(), earlyEach, earlyBurst)
	s.early.left -= 1 + size/earlyUnit
	s.Seq++
	s.segment = events
	if s.Note != nil {
		s.Note()
	}
	if err := s.Publish(s.Seq, events); err != nil {
		s.Report(err)
	}
	s.drop(size)
	s.pending, s.size, s.flushed = nil, 0, time.Now()
}

// countOn lets the numbers go on after the run's kept events, once. A power cut may have taken the note of how far the
// run had come.
func (s *Live) countOn() {
	if s.Last != nil {
		s.lines = max(s.lines, s.Last())
		s.Last = nil
	}
}

// event encodes a piece as text if that is shorter than base64, and as bytes otherwise.
func (p piece) event(seq int64) delegation.Event {
	if p.done != nil {
		e := *p.done
		e.Seq, e.Time = seq, p.at
		return e
	}
	e := delegation.Event{Seq: seq, Time: p.at, Type: p.kind, State: p.state, Reason: p.reason}
	if utf8.Valid(p.data) {
		if quoted, err := json.Marshal(string(p.data)); err == nil && len(quoted) <= len(p.data)*4/3+pieceCost {
			e.Text = string(p.data)
			return e
		}
	}
	e.Base64 = p.data
	return e
}

// wholeRunes returns the length of data's longest beginning within limit that does not end inside a character.
func wholeRunes(data []byte, limit int) int {
	if len(data) <= limit {
		return len(data)
	}
	for n := limit; n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n]) {
			return n
		}
	}
	return limit
}
