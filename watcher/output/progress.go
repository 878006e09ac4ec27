package output

import (
	"bytes"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// Progress says how far the output of a run was taken. The next watcher needs it to go on without doubling anything.
type Progress struct {
	Cursor         sandbox.Cursor
	Segment        int                // the number of the segment that was about to be published
	Lines          int64              // the number of events in all segments
	Events         []delegation.Event `json:",omitempty"` // the events of that segment: the next watcher publishes it if this watcher noted it and did not publish it
	Bytes          int64
	Stdout, Stderr []byte // the tails
	Inside         bool   // a chunk was published only in part; a chunk of an agent's lines was then taken whole
	Lost           bool   `json:",omitempty"` // output of an earlier sandbox of the run was lost
	Over           bool   `json:",omitempty"` // the segment says that the run has ended
	Asked          int    `json:",omitempty"` // the last question that an event in a segment shows
	Decided        int    `json:",omitempty"` // how many decisions such events tell

	Agent   bool                   `json:",omitempty"` // standard output consists of an adapter's lines
	Line    line                   `json:",omitzero"`  // the adapter's last line, which is not complete
	Head    []byte                 `json:",omitempty"` // init's first line until it is complete; the whole line if it says that nothing was started
	Input   delegation.InputStatus `json:",omitzero"`  // status of the parent's inputs
	Started time.Time              `json:",omitzero"`  // when init said that the agent starts; zero before
}

// A client may read a run's live output slowly, while one sandbox of the run follows another, and one watcher another.
// So the numbers of segments and events go on: no name is published twice, and a gap says where output is missing.

// ForNext returns the progress for the run's next sandbox: none of its output was taken, and the numbers go on.
func (p Progress) ForNext(lost bool) Progress {
	return Progress{Segment: p.Segment, Events: p.Events, Lines: p.Lines, Lost: lost, Agent: p.Agent}
}

// CountOn continues the live output after the output of another sandbox of the run.
func (o *Child) CountOn(p Progress) {
	if p.Segment == 0 {
		return
	}
	o.Live.Seq, o.Live.segment, o.Live.lines = p.Segment, p.Events, p.Lines
	if p.Lost {
		o.Live.gap()
	}
}

// Progress returns how far the output was taken.
func (o *Child) Progress() Progress {
	var input delegation.InputStatus
	if o.Inputs != nil {
		input = o.Inputs()
	}
	return Progress{
		Input:  input,
		Cursor: o.Cursor, Segment: o.Live.Seq, Events: o.Live.segment, Lines: o.Live.lines, Bytes: o.Bytes,
		Stdout: o.Stdout.buf, Stderr: o.Stderr.buf, Inside: o.Live.inside, Over: o.Live.over, Asked: o.Live.asked, Decided: o.Live.decided, Agent: o.Agent, Line: o.line, Head: o.head, Started: o.StartedAt,
	}
}

// Resume continues where an earlier watcher stopped. started is the time of the agent's start from the journal, zero if
// the journal has not seen it. complete says that the segment which the earlier watcher was about to publish is in the
// outbox. A note may be older than the start: a run has live segments before its agent.
func (o *Child) Resume(p Progress, started time.Time, complete bool) {
	o.StartedAt, o.known = started, !started.IsZero()
	if !p.Started.IsZero() {
		o.StartedAt, o.known = p.Started, false // init's line was taken
	}
	o.Started = !o.StartedAt.IsZero()
	if p.Segment == 0 {
		return
	}
	o.Cursor, o.Bytes, o.Agent, o.line = p.Cursor, p.Bytes, o.Agent || p.Agent, p.Line
	o.Stdout.buf, o.Stderr.buf = p.Stdout, p.Stderr
	o.Live.Seq, o.Live.segment, o.Live.lines = p.Segment, p.Events, p.Lines
	o.Live.asked, o.Live.decided = p.Asked, p.Decided
	if p.Inside || p.Lost || !complete {
		o.Live.gap()
	}
	o.head = p.Head
	if bytes.HasSuffix(o.head, []byte("\n")) {
		o.TakeHead(nil) // init has said why it starts nothing
	}
}
