package output

import (
	"bytes"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// BenchmarkTake is what a flood costs the host: of bytes, and of an agent's lines.
func BenchmarkTake(b *testing.B) {
	for name, c := range map[string]struct {
		line  string
		agent bool
	}{
		"bytes": {"0123456789abcdef\n", false}, "raw": {`{"type":"raw"}` + "\n", true}, "text": {`{"type":"text","text":"a"}` + "\n", true},
	} {
		b.Run(name, func(b *testing.B) {
			chunk := bytes.Repeat([]byte(c.line), 32<<10/len(c.line))
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			live := &Live{Publish: func(int, []delegation.Event) error { return nil }, Remove: func(int) {}, Report: func(err error) { b.Error(err) }}
			o := &Child{Live: live, Agent: c.agent, Started: true}
			for b.Loop() {
				o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: chunk})
			}
		})
	}
}
