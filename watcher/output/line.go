package output

import (
	"bytes"

	"torno/internal/agent"
)

// line collects the line that an adapter is writing, in bounded memory.
type line struct {
	Text []byte `json:",omitempty"` // the line so far
	Long bool   `json:",omitempty"` // this is no line of an adapter: its beginning was lost, or it is too long
}

// take passes each whole line, without its end, to whole. Output that is no line goes to piece as it comes.
func (l *line) take(data []byte, whole, piece func([]byte)) {
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n')
		switch {
		case l.Long && n < 0:
			piece(data)
			return
		case l.Long:
			l.Long = false
			piece(data[:n+1])
		case n >= 0 && len(l.Text)+n < agent.MaxLine:
			text := append(l.Text, data[:n]...)
			l.Text = nil // cleared first, because whole may note how far the output was taken
			whole(text)
		case n < 0 && len(l.Text)+len(data) < agent.MaxLine:
			l.Text = append(l.Text, data...)
			return
		default:
			text := l.Text
			l.Text, l.Long = nil, true
			if len(text) > 0 {
				piece(text)
			}
			continue
		}
		data = data[n+1:]
	}
}

// tear says that output was lost: the line so far has no end, and the next output may have no beginning.
func (l *line) tear() { *l = line{Long: true} }

// rest returns the line that was begun when the output ended.
func (l *line) rest() []byte {
	rest := l.Text
	*l = line{}
	return rest
}

// Readable turns an agent's lines into text for people.
type Readable struct{ line line }

// Tear says that output is missing.
func (r *Readable) Tear() { r.line.tear() }

// Take returns a piece of standard output as text for people.
func (r *Readable) Take(data []byte) (said []byte) {
	r.line.take(data, func(text []byte) {
		if l, err := agent.Decode(text); err == nil {
			said = append(said, agent.Show(l)...)
			return
		}
		said = append(append(said, text...), '\n')
	}, func(piece []byte) { said = append(said, piece...) })
	return said
}
