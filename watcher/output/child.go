package output

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/runfile"
	"torno/sandbox"
)

// maxHead bounds the part of init's first line that is kept until the line is complete. A longer line is not init's.
const maxHead = 4096

// Child takes a child's chunks apart: init's first line, the tails, the live segments. It belongs to the goroutine that
// reads the attachment.
type Child struct {
	Stdout, Stderr tail
	Bytes          int64
	Live           *Live
	Agent          bool // standard output consists of the lines of an agent's adapter
	OnHolding      func()
	OnStarted      func(time.Time)
	OnAcknowledged func(agent.Line) []delegation.Event // returns the events that tell of an acknowledged input
	Inputs         func() delegation.InputStatus       // status of the parent's inputs
	OnSession      func(agent.Part)                    // saves one part of the agent's session; nil if sessions are not kept
	OnAsk          func(agent.Line)                    // takes lines about the agent's questions

	Cursor    sandbox.Cursor // where a new attachment continues
	head      []byte         // standard error until its first line is complete
	line      line           // the adapter's current line, until it is complete
	Started   bool
	StartedAt time.Time // when the agent started
	known     bool      // the journal knows that the agent started, so a log without init's line has lost its beginning
	Failure   error     // why init did not start the agent
}

// Take consumes one chunk.
func (o *Child) Take(c sandbox.Chunk) {
	if c.Gap {
		o.Live.gap()
		o.line.tear()
	}
	o.Cursor = c.Cursor
	data := c.Bytes
	if c.Stream == sandbox.Stderr && (!o.Started || o.known) {
		data = o.TakeHead(data)
	}
	if len(data) == 0 {
		return
	}
	o.Bytes += int64(len(data))
	switch {
	case c.Stream == sandbox.Stderr:
		o.Stderr.add(data)
		o.Live.add(delegation.EventStderr, data)
	case o.Agent:
		o.line.take(data, o.takeLine, o.takeStdout)
	default:
		o.takeStdout(data)
	}
	o.Live.settle()
}

func (o *Child) takeStdout(data []byte) {
	o.Stdout.add(data)
	if o.Agent {
		o.Live.hold(delegation.EventStdout, data)
		return
	}
	o.Live.add(delegation.EventStdout, data)
}

// takeLine takes a line of an agent's adapter. The model's text goes into the tail, for people. A line that is not an
// adapter's counts as output, as with other programs.
func (o *Child) takeLine(text []byte) {
	l, err := agent.Decode(text)
	if err != nil {
		o.takeStdout(append(text, '\n'))
		return
	}
	if l.Kind == agent.Acknowledged {
		o.takeAcknowledged(l)
		return
	}
	if l.Kind == agent.Session {
		if o.OnSession != nil {
			o.OnSession(*l.Part)
		}
		return
	}
	if l.Ask != "" {
		o.OnAsk(l)
		return
	}
	if l.Kind == agent.Text {
		o.Stdout.add([]byte(l.Text))
		if !l.More {
			o.Stdout.add([]byte("\n"))
		}
	}
	o.Live.happened(delegation.EventOf(l), text)
}

// takeAcknowledged takes an adapter's word about an input of the parent.
func (o *Child) takeAcknowledged(l agent.Line) {
	if o.OnAcknowledged == nil {
		return
	}
	for _, e := range o.OnAcknowledged(l) {
		text, err := json.Marshal(e.Text)
		if err == nil {
			o.Live.happened(e, text)
		}
	}
}

// Rest takes an unfinished last line, when the output has ended.
func (o *Child) Rest() {
	if rest := o.line.rest(); len(rest) > 0 {
		o.takeStdout(rest)
	}
}

// Begin forgets the output of a sandbox that was never released, because another sandbox now replaces it.
func (o *Child) Begin() { o.Cursor, o.head, o.line, o.Failure = "", nil, line{}, nil }

// TakeHead looks for init's lines, and returns the bytes that follow them. No byte before the started line is the
// child's.
func (o *Child) TakeHead(data []byte) []byte {
	if o.Failure != nil {
		return nil
	}
	o.head = append(o.head, data...)
	line, rest, complete := bytes.Cut(o.head, []byte("\n"))
	if !complete && len(o.head) < maxHead {
		return nil
	}
	o.head = nil
	if complete && runfile.IsHolding(string(line)) {
		if o.OnHolding != nil {
			o.OnHolding()
		}
		return o.TakeHead(rest)
	}
	at, err := runfile.ParseFirstLine(string(line))
	if err == nil && !complete {
		err = runfile.ErrNotInit
	}
	switch {
	case o.known:
		o.known = false // this is checked once
		if err != nil {
			return slices.Concat(line, []byte("\n"), rest)
		}
	case err != nil:
		o.Failure, o.head = err, append(line, '\n')
		return nil
	default:
		o.Started, o.StartedAt = true, NotAhead(at) // if the log has lost its beginning, the line may be the child's
		o.OnStarted(o.StartedAt)
	}
	return rest
}

// tail keeps the end of a stream in bounded memory.
type tail struct{ buf []byte }

const maxTail = delegation.TailBytes

func (t *tail) add(data []byte) {
	if len(data) >= maxTail {
		t.buf = append(t.buf[:0], data[len(data)-maxTail:]...)
		return
	}
	if over := len(t.buf) + len(data) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, data...)
}

// String returns the tail as the response carries it.
func (t *tail) String() string { return delegation.Tail(t.buf) }

// NotAhead returns told, or now if told is in the future: the clock was put back since, or the child made the time up.
// The result is shown, and decides nothing.
func NotAhead(told time.Time) time.Time {
	if now := time.Now(); told.After(now) {
		return now
	}
	return told
}
