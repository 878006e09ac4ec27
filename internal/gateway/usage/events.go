package usage

// done ends a stream of the Chat API. It is not JSON.
const done = "[DONE]"

// events reads a stream of server-sent events. The data of each event is one document.
type events struct {
	tally
	scanner scanner

	begun   int   // bytes of the stream, counted up to the length of a byte order mark
	line    int   // bytes of the line, counted up to the length of a field's name
	field   field // the kind of the current line
	space   bool  // the next byte may be the optional space after the colon
	hasData bool  // the event has a line of data
	isDone  int   // bytes of data that match done so far; -1 if they do not match
	wasCR   bool  // the last byte was a CR that ended a line; a line feed after it belongs to it
}

type field uint8

const (
	naming field = iota // so far the line is a beginning of "data"
	data
	other
)

const dataName = "data"

func newEvents(s shape) *events {
	return &events{tally: tally{shape: s}, scanner: scanner{root: s.event}}
}

func (e *events) Write(p []byte) (int, error) {
	for _, c := range p {
		e.read(c)
	}
	return len(p), nil
}

func (e *events) Usage() (Usage, bool) { return e.usage() }

func (e *events) read(c byte) {
	if e.begun < len(byteOrderMark) {
		if c == byteOrderMark[e.begun] {
			e.begun++
			return
		}
		if e.begun > 0 {
			e.field = other // half a mark is part of the line
		}
		e.begun = len(byteOrderMark)
	}
	switch {
	case c == '\n' && e.wasCR:
		e.wasCR = false
	case c == '\n' || c == '\r':
		e.wasCR = c == '\r'
		e.lineEnd()
	default:
		e.wasCR = false
		e.inLine(c)
	}
}

const byteOrderMark = "\xef\xbb\xbf"

func (e *events) inLine(c byte) {
	switch {
	case e.field == data && e.space && c == ' ':
		e.space = false
	case e.field == data:
		e.space = false
		e.datum(c)
	case e.field == naming && e.line == len(dataName) && c == ':':
		e.beginData()
		e.space = true
	case e.field == naming && e.line < len(dataName) && c == dataName[e.line]:
		e.line++
	default:
		e.field = other
		e.line++
	}
}

// beginData begins a line of data. Lines of the same event are joined by a line feed.
func (e *events) beginData() {
	e.field = data
	if e.hasData {
		e.datum('\n')
	}
	e.hasData = true
}

func (e *events) datum(c byte) {
	e.scanner.read(c)
	if e.isDone >= 0 {
		if e.isDone < len(done) && c == done[e.isDone] {
			e.isDone++
		} else {
			e.isDone = -1
		}
	}
}

func (e *events) lineEnd() {
	empty := e.field == naming && e.line == 0
	if e.field == naming && e.line == len(dataName) {
		e.beginData() // a field without a colon is empty
	}
	e.field, e.line, e.space = naming, 0, false
	if e.isDone == len(done) {
		e.streamEnds() // some servers leave out the empty line after it
	}
	if empty {
		e.dispatch()
	}
}

// streamEnds handles the end of a Chat API stream.
func (e *events) streamEnds() {
	e.done = e.done || e.shape.endsByDone && e.all.seen[input]
	e.forget()
}

// dispatch takes the data of an event as a document.
func (e *events) dispatch() {
	switch {
	case !e.hasData:
	case e.scanner.complete():
		e.event(&e.scanner.found)
	case e.scanner.began:
		e.lost = true
	}
	e.forget()
}

func (e *events) forget() {
	e.scanner.reset()
	e.hasData, e.isDone = false, 0
}
