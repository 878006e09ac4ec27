package usage

import (
	"io"
	"mime"
)

// maxTokens is the highest number of tokens that an answer is believed.
const maxTokens = 1 << 40

// Usage is the tokens of one exchange. No token is counted in two fields, but CacheWriteHour.
type Usage struct {
	Input      int64 // read anew: neither from a cache nor into one
	Output     int64 // with those of thinking
	CacheRead  int64
	CacheWrite int64
	// CacheWriteHour is the part of CacheWrite that is kept for an hour, which costs more.
	CacheWriteHour int64
}

// AllInput is the tokens that the model read, wherever from.
func (u Usage) AllInput() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Meter takes the body of an answer as it passes. It has one user. Write never fails.
type Meter interface {
	io.Writer
	// Usage is the usage that the answer told, and whether the answer was complete. If not, its reservation counts.
	Usage() (Usage, bool)
}

// NewMeter makes the meter of an answer. api is the route's, contentType the answer's.
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

// blind is the meter of an answer in which no usage is known.
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

// Usage can be called at any time. A document that has not ended has no usage yet.
func (p *plain) Usage() (Usage, bool) {
	if !p.scanner.complete() {
		return Usage{}, false
	}
	t := p.tally
	t.whole(&p.scanner.found)
	return t.usage()
}
