package usage

import (
	"io"
	"mime"
)

// maxTokens is the highest number of tokens that is believed.
const maxTokens = 1 << 40

// Usage holds the tokens of one exchange. Each token is in one field only, except that CacheWriteHour is a part of
// CacheWrite.
type Usage struct {
	Input      int64 // neither read from a cache nor written into one
	Output     int64 // thinking included
	CacheRead  int64
	CacheWrite int64
	// CacheWriteHour is the part of CacheWrite that is kept for an hour, which costs more.
	CacheWriteHour int64
}

// AllInput returns all tokens that the model read, cached or not.
func (u Usage) AllInput() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Meter takes the body of an answer as it passes. Only one goroutine may use it. Write never fails.
type Meter interface {
	io.Writer
	// Usage returns the answer's usage, and whether the answer was complete. If not, its reservation counts.
	Usage() (Usage, bool)
}

// NewMeter makes a meter for an answer. api is the route's API, contentType the answer's.
func NewMeter(api, contentType string) Meter {
	kind, _, err := mime.ParseMediaType(contentType)
	s, known := shapes[api]
	if err != nil || !known {
		return blind{}
	}
	switch kind {
	case "application/json":
		return newPlain(s)
	case "text/event-stream":
		return newEvents(s)
	case "application/vnd.amazon.eventstream":
		if api == "bedrock" {
			return newFrames(s)
		}
	}
	return blind{}
}

// blind is the meter of an answer whose form is unknown.
type blind struct{}

func (blind) Write(p []byte) (int, error) { return len(p), nil }
func (blind) Usage() (Usage, bool)        { return Usage{}, false }

// plain reads an answer that is one JSON document.
type plain struct {
	tally
	scanner scanner
}

func newPlain(s shape) *plain {
	return &plain{tally: tally{shape: s}, scanner: scanner{root: s.whole}}
}

func (p *plain) Write(b []byte) (int, error) {
	for _, c := range b {
		p.scanner.read(c)
	}
	return len(b), nil
}

// Usage may be called at any time. It returns false until the document has ended.
func (p *plain) Usage() (Usage, bool) {
	if !p.scanner.complete() {
		return Usage{}, false
	}
	t := p.tally
	t.whole(&p.scanner.found)
	return t.usage()
}
