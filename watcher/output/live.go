package output

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"torno/delegation"
)

// The bounds of live output. A child that prints faster than segmentPace lets through is shown with gaps; its tails
// and the launcher's log are not affected.
const (
	segmentBytes = 32 << 10 // of output; encoded, a segment stays under 64 KiB
	SegmentAge   = 250 * time.Millisecond
	segmentPace  = 50 * time.Millisecond
	MaxSegments  = 64 // of one run; the oldest goes first
	pieceCost    = 128
)

// Live publishes a run's live output as immutable files.
type Live struct {
	Note    func() // called before a segment is published, or nil
	Publish func(seq int, events []delegation.Event) error
	Remove  func(seq int)
	Report  func(error)

	mu sync.Mutex // guards what follows

	Seq     int   // of the last segment
	inside  bool  // a chunk is being taken
	lines   int64 // of the last event
	over    bool  // an event said that the run has ended
	pending []piece
	size    int
	flushed time.Time

	burst   int // segments that an agent may fill at once
	granted time.Time
}

// piece is an event before it is encoded: neighbours of one stream grow together.
type piece struct {
	at     time.Time
	kind   delegation.EventType
	data   []byte
	state  delegation.State
	reason delegation.Reason
	done   *delegation.Event // what an agent did; nil for the rest
	weight int               // of done in a segment
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

// isHosts says whether the host says it: that is not dropped.
func (p piece) isHosts() bool {
	return p.kind == delegation.EventState || p.kind == delegation.EventAsked || p.kind == delegation.EventDecided
}

// size is what the piece counts for in a segment.
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

// Tell records what the host says of a question of the agent's. It is published with what comes next, or soon.
func (s *Live) Tell(e delegation.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // it has a form in JSON
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += len(text)
	s.push(piece{kind: e.Type, done: &e, weight: len(text)})
}

// happened records what an agent did, as its adapter's line says. It writes nothing: settle does, when the whole chunk was taken, so
// that what is noted of the output agrees with what is published.
func (s *Live) happened(e delegation.Event, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	weight := len(line)
	for _, longer := range []string{"\u2028", "\u2029"} { // three bytes, and six when they are encoded
		weight += 3 * bytes.Count(line, []byte(longer))
	}
	s.size += weight
	s.push(piece{kind: e.Type, done: &e, weight: weight})
}

// settle makes room behind a chunk, and shows the first event after a while at once.
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

// segmentBurst is how many segments an agent may fill at once, as with the file that a tool has read.
const segmentBurst = 16

// mayWrite takes one from the burst, which grows by one each segmentPace.
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
	all, n, size := s.pending, 1, s.pending[0].size()
	for n < len(all) && size+all[n].size() <= segmentBytes {
		size += all[n].size()
		n++
	}
	s.pending, s.inside = all[:n:n], n < len(all)
	s.write()
	s.pending, s.inside = all[n:], false
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

// flushOrSkip makes room: by a segment, or by dropping output that came too fast.
func (s *Live) flushOrSkip() {
	if time.Since(s.flushed) >= segmentPace {
		s.write()
		return
	}
	s.skip()
}

// skip drops pending output, and says so.
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

// Flush publishes what is pending.
func (s *Live) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write()
}

// Span are the first and the last segment that are still there.
func (s *Live) Span() (first, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(1, s.Seq-MaxSegments+1), s.Seq
}

// write publishes what is pending and drops the oldest segment over the bound.
func (s *Live) write() {
	if len(s.pending) == 0 {
		return
	}
	events := make([]delegation.Event, 0, len(s.pending))
	for _, p := range s.pending {
		s.lines++
		events = append(events, p.event(s.lines))
		s.over = s.over || p.state == delegation.StateEnded
	}
	s.Seq++
	if s.Note != nil {
		s.Note()
	}
	if err := s.Publish(s.Seq, events); err != nil {
		s.Report(err)
	}
	s.pending, s.size, s.flushed = nil, 0, time.Now()
	if old := s.Seq - MaxSegments; old > 0 {
		s.Remove(old)
	}
}

// event encodes a piece as text where that is shorter than base64, and as bytes otherwise.
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

// wholeRunes is the length of data's longest beginning within limit that does not end inside a character.
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
