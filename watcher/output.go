package watcher

import (
	"bytes"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

// maxHead bounds what is kept while init's first line is not complete. A longer one is not init's.
const maxHead = 4096

// output takes a child's chunks apart: init's first line, the tails, the live segments. It has one owner, the
// goroutine that reads the attachment.
type output struct {
	stdout, stderr tail
	bytes          int64
	live           *segments
	onHolding      func()
	onStarted      func(time.Time)

	cursor    sandbox.Cursor // where a new attachment goes on
	head      []byte         // standard error until its first line is complete
	started   bool
	startedAt time.Time // when that was
	known     bool      // the journal has said so: a beginning without init's line is a lost one
	failure   error     // why init did not start the agent
}

// take consumes one chunk.
func (o *output) take(c sandbox.Chunk) {
	if c.Gap {
		o.live.gap()
	}
	o.cursor = c.Cursor
	data := c.Bytes
	if c.Stream == sandbox.Stderr && (!o.started || o.known) {
		data = o.takeHead(data)
	}
	if len(data) == 0 {
		return
	}
	o.bytes += int64(len(data))
	if c.Stream == sandbox.Stderr {
		o.stderr.add(data)
		o.live.add(delegation.EventStderr, data)
		return
	}
	o.stdout.add(data)
	o.live.add(delegation.EventStdout, data)
}

// begin forgets what a sandbox said that was never released: another one is in its place.
func (o *output) begin() { o.cursor, o.head, o.failure = "", nil, nil }

// takeHead looks for init's lines and returns what follows them. Before the started line no byte is the child's.
func (o *output) takeHead(data []byte) []byte {
	if o.failure != nil {
		return nil
	}
	o.head = append(o.head, data...)
	line, rest, complete := bytes.Cut(o.head, []byte("\n"))
	if !complete && len(o.head) < maxHead {
		return nil
	}
	o.head = nil
	if complete && runfile.IsHolding(string(line)) {
		if o.onHolding != nil {
			o.onHolding()
		}
		return o.takeHead(rest)
	}
	at, err := runfile.ParseFirstLine(string(line))
	if err == nil && !complete {
		err = runfile.ErrNotInit
	}
	switch {
	case o.known:
		o.known = false // it is asked once
		if err != nil {
			return slices.Concat(line, []byte("\n"), rest)
		}
	case err != nil:
		o.failure, o.head = err, append(line, '\n')
		return nil
	default:
		o.started, o.startedAt = true, notAhead(at) // in a log that has lost its beginning the line may be the child's
		o.onStarted(o.startedAt)
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

// String is the tail as the response carries it.
func (t *tail) String() string { return delegation.Tail(t.buf) }

// notAhead is a time that was told, or now where the clock was put back since, or the child told it. It is shown, and decides
// nothing.
func notAhead(told time.Time) time.Time {
	if now := time.Now(); told.After(now) {
		return now
	}
	return told
}
