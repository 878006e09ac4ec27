package output

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

func newOutput(live *Live) (*Child, *[]time.Time) {
	var started []time.Time
	return &Child{Live: live, OnStarted: func(at time.Time) { started = append(started, at) }}, &started
}

// sink is live output that is thrown away.
func sink() *Live {
	return &Live{Publish: func(int, []delegation.Event) error { return nil }, Remove: func(int) {}, Report: func(error) {}}
}

func TestTheFirstLineIsInits(t *testing.T) {
	for name, c := range map[string]struct {
		stderr  string
		started bool
		failure string
		tail    string
	}{
		"started":               {"torno-init 1 started 1700000000000000000\nchild\n", true, "", "child\n"},
		"nothing after it":      {"torno-init 1 started 1700000000000000000\n", true, "", ""},
		"a child that pretends": {"torno-init 1 started 17\ntorno-init 1 failed mount no\n", true, "", "torno-init 1 failed mount no\n"},
		"failed":                {"torno-init 1 failed mount it is another directory\n", false, "it is another directory", ""},
		"somebody else":         {"panic: no\n", false, runfile.ErrNotInit.Error(), ""},
		"no number":             {"torno-init 1 started soon\n", false, runfile.ErrNotInit.Error(), ""},
		"never a line's end":    {strings.Repeat("x", maxHead+9), false, runfile.ErrNotInit.Error(), ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				o, started := newOutput(sink())
				for rest := []byte(c.stderr); len(rest) > 0; {
					n := min(size, len(rest))
					o.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: rest[:n]})
					rest = rest[n:]
				}
				failure := ""
				if o.Failure != nil {
					failure = o.Failure.Error()
				}
				if o.Started != c.started || len(*started) == 1 != c.started || failure != c.failure || o.Stderr.String() != c.tail {
					t.Errorf("started %v, failure %q, tail %q", o.Started, failure, o.Stderr.String())
				}
			})
		}
	}
}

func TestTails(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short":          {"abc", "abc"},
		"characters":     {strings.Repeat("ü", 3000), strings.Repeat("ü", 2000)},
		"four bytes":     {strings.Repeat("𝄞", 3000), strings.Repeat("𝄞", 2000)},
		"a cut one":      {"x" + strings.Repeat("ü", 4500), strings.Repeat("ü", 2000)},
		"binary":         {"a\xff\xfeb", "a\uFFFDb"},
		"a long history": {strings.Repeat("old", 5000) + strings.Repeat("n", 2000), strings.Repeat("n", 2000)},
	} {
		for _, size := range []int{1, 1000, 1 << 20} {
			var tl tail
			for rest := []byte(c.in); len(rest) > 0; {
				n := min(size, len(rest))
				tl.add(rest[:n])
				rest = rest[n:]
			}
			if got := tl.String(); got != c.want {
				t.Errorf("%s in pieces of %d: %d characters, want %d", name, size, utf8.RuneCountInString(got), utf8.RuneCountInString(c.want))
			}
			if cap(tl.buf) > 4*maxTail {
				t.Errorf("%s: the tail holds %d bytes", name, cap(tl.buf))
			}
		}
	}
}

// shelf is where segments land in a test.
type shelf struct {
	segments map[int][]delegation.Event
	most     int
	*testing.T
}

func (s *shelf) open() *Live {
	s.segments = make(map[int][]delegation.Event)
	return s.more()
}

// more is another live output that goes on in the same place.
func (s *shelf) more() *Live {
	return &Live{
		Publish: func(seq int, events []delegation.Event) error {
			data, err := delegation.EncodeEvents(events)
			if err != nil {
				s.Error(err)
			}
			s.most = max(s.most, len(data))
			s.segments[seq] = events
			return nil
		},
		Remove: func(seq int) { delete(s.segments, seq) },
		Report: func(err error) { s.Error(err) },
	}
}

func TestSegmentsKeepEveryByteOfAQuietChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := shelf{T: t}
		live := shelf.open()
		var want, got bytes.Buffer
		for i := range 50 {
			line := strings.Repeat("ö", i*3) + "\x00\x01" + strings.Repeat("\xff", i%3) + "\n"
			want.WriteString(line)
			live.add(delegation.EventStdout, []byte(line))
			if i%10 == 0 {
				live.Flush()
			}
		}
		live.Flush()
		next := int64(1)
		for seq := 1; seq <= live.Seq; seq++ {
			for _, e := range shelf.segments[seq] {
				if e.Seq != next {
					t.Errorf("event %d where %d belongs", e.Seq, next)
				}
				next++
				got.WriteString(e.Text)
				got.Write(e.Base64)
			}
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Error("bytes were changed")
		}
	})
}

func TestSegmentsOfAFloodAreBoundedAndSayWhatIsMissing(t *testing.T) {
	for name, line := range map[string]string{
		"text": "0123456789abcdef\n", "binary": "\xff\xfe\xfd", "control": "\x00\x01\x02", "quotes": `"\"<&>`, "wide": "𝄞𝄞\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf := shelf{T: t}
				live := shelf.open()
				live.State(delegation.StateRunning, "")
				gaps := 0
				for range 200 {
					live.add(delegation.EventStdout, bytes.Repeat([]byte(line), 10_000))
					<-time.After(10 * time.Millisecond) // of the bubble's clock
				}
				live.Flush()
				for _, events := range shelf.segments {
					for _, e := range events {
						if e.Type == delegation.EventGap {
							gaps++
						}
					}
				}
				if len(shelf.segments) > 2*fullKept || shelf.most > delegation.MaxSegment || gaps == 0 {
					t.Errorf("%d segments, the largest of %d bytes, %d gaps", len(shelf.segments), shelf.most, gaps)
				}
			})
		})
	}
}
