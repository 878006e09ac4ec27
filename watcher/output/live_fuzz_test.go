package output

import (
	"bytes"
	"testing"
	"time"

	"torno/delegation"
)

// FuzzSegments lets a child print anything in pieces of any size: put together, the segments hold every byte of each
// stream in order and in numbers without a hole, and each is small enough to be written and read.
func FuzzSegments(f *testing.F) {
	for _, pattern := range []string{"", "a", "\n", "\xff", "ü", "𝄞", "\x00", "\u2028", "<&>\"\\", "\xf0\x9d", "\xe2\x80a"} {
		f.Add([]byte(pattern), uint32(34_000), uint32(7), false)
		f.Add([]byte(pattern), uint32(66_000), uint32(32<<10), true)
	}
	f.Add([]byte("\x01\x02\x03"), uint32(32<<10-128), uint32(1), false)
	f.Fuzz(func(t *testing.T, pattern []byte, size, piece uint32, both bool) {
		if len(pattern) == 0 {
			return
		}
		out := bytes.Repeat(pattern, 1+int(size%(256<<10))/len(pattern))
		seen := map[delegation.EventType][]byte{}
		s := shelved(t, seen)
		kind := delegation.EventStdout
		want := map[delegation.EventType][]byte{}
		for rest := out; len(rest) > 0; {
			n := min(len(rest), max(1, int(piece%(64<<10)), len(out)/64))
			s.flushed = time.Time{} // a child so quiet that nothing is left out
			s.add(kind, rest[:n])
			want[kind] = append(want[kind], rest[:n]...)
			rest = rest[n:]
			if both {
				kind = map[delegation.EventType]delegation.EventType{delegation.EventStdout: delegation.EventStderr, delegation.EventStderr: delegation.EventStdout}[kind]
			}
		}
		s.Flush()
		for kind, output := range want {
			if !bytes.Equal(seen[kind], output) {
				t.Errorf("of %d bytes of %s there are %d, or others", len(output), kind, len(seen[kind]))
			}
		}
	})
}

// shelved are segments that are written, read and put together.
func shelved(t *testing.T, seen map[delegation.EventType][]byte) *Live {
	next := int64(1)
	return &Live{
		Remove: func(int) {}, Report: func(err error) { t.Error(err) },
		Publish: func(_ int, events []delegation.Event) error {
			data, err := delegation.EncodeEvents(events)
			if err != nil {
				return err
			}
			got, err := delegation.DecodeEvents(data)
			for _, e := range got {
				if e.Seq != next {
					t.Errorf("event %d comes after %d", e.Seq, next-1)
				}
				next++
				seen[e.Type] = append(seen[e.Type], e.Output()...)
			}
			return err
		},
	}
}
