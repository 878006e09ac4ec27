package output

import (
	"bytes"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// Progress is how far the output of a run was taken: what a next watcher needs to go on without doubling anything.
type Progress struct {
	Cursor         sandbox.Cursor
	Segment        int                // the segment that was about to be published
	Lines          int64              // events in all of them
	Events         []delegation.Event `json:",omitempty"` // that segment: a next watcher publishes what this one has noted and not published
	Bytes          int64
	Stdout, Stderr []byte // the tails
	Inside         bool   // a chunk was published in part; of an agent's lines all of it was taken
	Lost           bool   `json:",omitempty"` // output of an earlier sandbox of the run was lost
	Over           bool   `json:",omitempty"` // the segment says that the run has ended

	Agent   bool                   `json:",omitempty"` // standard output is an adapter's lines
	Line    line                   `json:",omitzero"`  // of which the last is not complete
	Head    []byte                 `json:",omitempty"` // of init's first line, until it is complete; all of it where it says that nothing was started
	Input   delegation.InputStatus `json:",omitzero"`  // what became of what the parent has said
	Started time.Time              `json:",omitzero"`  // when it said that the agent starts; zero before
}

// A client may read a run's live output slowly, while one sandbox of the run follows another and one watcher another. So segments
// and events count on: no name is published twice, and a gap says where output is missing.

// ForNext is the progress of a run's next sandbox: nothing of its output was taken, and the numbers go on.
func (p Progress) ForNext(lost bool) Progress {
	return Progress{Segment: p.Segment, Events: p.Events, Lines: p.Lines, Lost: lost, Agent: p.Agent}
}

// CountOn has live output go on after what another sandbox of the run has printed.
func (o *Child) CountOn(p Progress) {
	if p.Segment == 0 {
		return
	}
	o.Live.Seq, o.Live.segment, o.Live.lines = p.Segment, p.Events, p.Lines
	if p.Lost {
		o.Live.gap()
	}
}

// Progress is where the output stands.
func (o *Child) Progress() Progress {
	var input delegation.InputStatus
	if o.Inputs != nil {
		input = o.Inputs()
	}
	return Progress{
		Input:  input,
		Cursor: o.Cursor, Segment: o.Live.Seq, Events: o.Live.segment, Lines: o.Live.lines, Bytes: o.Bytes,
		Stdout: o.Stdout.buf, Stderr: o.Stderr.buf, Inside: o.Live.inside, Over: o.Live.over, Agent: o.Agent, Line: o.line, Head: o.head, Started: o.StartedAt,
	}
}

// Resume goes on where an earlier watcher stopped. started is when the journal has seen the agent start, zero where it has not;
// complete says that the segment it was about to publish is in the outbox. A note may be older than the start: a run has live segments
// before its agent.
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
	if p.Inside || p.Lost || !complete {
		o.Live.gap()
	}
	o.head = p.Head
	if bytes.HasSuffix(o.head, []byte("\n")) {
		o.TakeHead(nil) // init has said why it starts nothing
	}
}
