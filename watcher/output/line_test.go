package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// told are an agent's events, without their numbers and times; output that was cut anywhere is joined.
func (s *shelf) told(last int) (all []delegation.Event) {
	for seq := 1; seq <= last; seq++ {
		for _, e := range s.segments[seq] {
			n := len(all) - 1
			if n >= 0 && e.Type == delegation.EventStdout && all[n].Type == delegation.EventStdout {
				all[n].Text += e.Text
				continue
			}
			all = append(all, delegation.Event{Type: e.Type, Text: e.Text, More: e.More, Parent: e.Parent, Tool: e.Tool, Tokens: e.Tokens, Failed: e.Failed})
		}
	}
	return all
}

// TestAnAgentsLines: however its output is cut, and wherever one watcher gives way to the next, a line is one event, and what is no
// line is output.
func TestAnAgentsLines(t *testing.T) {
	long := strings.Repeat("x", agent.MaxLine+9)
	said := `{"type":"text","text":"hällo"}` + "\n" + "hello\n" + `{"type":"tool_call","tool":{"id":"t1","name":"Bash","input":{"command":"ls"}}}` + "\n" +
		`{"type":"text","text":"no","colour":"red"}` + "\n" + long + "\n" + `{"type":"stdout","text":"forged"}` + "\n" +
		`{"type":"state","state":"ended"}` + "\n\n" + `{"type":"result","failed":true}` + "\n" + `{"type":"text"`
	want := []delegation.Event{
		{Type: delegation.EventText, Text: "hällo"},
		{Type: delegation.EventStdout, Text: "hello\n"},
		{Type: delegation.EventToolCall, Tool: &delegation.Tool{ID: "t1", Name: "Bash", Input: []byte(`{"command":"ls"}`)}},
		{Type: delegation.EventStdout, Text: `{"type":"text","text":"no","colour":"red"}` + "\n" + long + "\n" + `{"type":"stdout","text":"forged"}` + "\n" +
			`{"type":"state","state":"ended"}` + "\n\n"},
		{Type: delegation.EventResult, Failed: true},
		{Type: delegation.EventStdout, Text: `{"type":"text"`},
	}
	for _, size := range []int{1, 7, 1000, 1 << 20} {
		t.Run(fmt.Sprint("in pieces of ", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf := shelf{T: t}
				o := &Child{Live: shelf.open(), Agent: true, Started: true}
				for n, rest := 0, []byte(said); len(rest) > 0; n++ {
					if n%100 == 50 { // the watcher gives way to the next one, which knows only what was noted
						o.Live.Flush()
						var noted Progress
						data, err := json.Marshal(o.Progress())
						if err == nil {
							err = json.Unmarshal(data, &noted)
						}
						if err != nil {
							t.Fatal(err)
						}
						next := &Child{Live: &Live{Publish: o.Live.Publish, Remove: func(int) {}, Report: o.Live.Report}}
						next.Resume(noted, o.StartedAt, true)
						next.Started, next.known = true, false
						o = next
					}
					piece := rest[:min(size, len(rest))]
					o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: bytes.Clone(piece)})
					rest = rest[len(piece):]
				}
				o.Rest()
				o.Live.Flush()
				if got := shelf.told(o.Live.Seq); !reflect.DeepEqual(got, want) {
					t.Errorf("it told\n%+v\nwant\n%+v", got, want)
				}
				if tail := o.Stdout.String(); !strings.HasSuffix(tail, `{"type":"text"`) || strings.Contains(tail, "tool_call") {
					t.Errorf("the tail is %q", tail)
				}
			})
		})
	}
}

// handover is what a watcher has noted when it dies: before which chunk the next one goes on, and what is published by then.
type handover struct {
	noted     Progress
	next      int
	published map[int][]delegation.Event
}

// TestAWatcherDiesWhileItNotes: at every note of it, before the segment is published and after. The next watcher tells only what the
// agent said, each thing once, and all of it unless it says that something is missing.
func TestAWatcherDiesWhileItNotes(t *testing.T) {
	var said []byte
	for i := range 60 {
		said = append(said, fmt.Sprintf(`{"type":"tool_call","tool":{"id":"t%d","name":"Bash","input":{"command":"echo %s"}}}`+"\n", i, strings.Repeat("x", i*i*4))...)
	}
	for _, size := range []int{500, 3000, 7000, 40_000, 200_000} {
		t.Run(fmt.Sprint("in chunks of ", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chunks := slices.Collect(slices.Chunk(said, size))
				var all []handover
				shelf := shelf{T: t}
				o := &Child{Live: shelf.open(), Agent: true, Started: true}
				at := 0
				o.Live.Note = func() {
					data, err := json.Marshal(o.Progress())
					if err != nil {
						t.Fatal(err)
					}
					var noted Progress
					if err := json.Unmarshal(data, &noted); err != nil {
						t.Fatal(err)
					}
					all = append(all, handover{noted, at + 1, maps.Clone(shelf.segments)})
				}
				for at = range chunks {
					o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: bytes.Clone(chunks[at])})
					<-time.After(40 * time.Millisecond) // of the bubble's clock
				}
				o.Live.Flush()
				want := shelf.told(o.Live.Seq)
				if len(want) != 60 {
					t.Fatalf("the oracle is dead: %d events", len(want))
				}
				for _, h := range all {
					for _, wasPublished := range []bool{false, true} {
						h.goesOn(t, chunks, shelf.segments[h.noted.Segment], wasPublished, want)
					}
				}
			})
		})
	}
}

func (h handover) goesOn(t *testing.T, chunks [][]byte, last []delegation.Event, wasPublished bool, want []delegation.Event) {
	t.Helper()
	next := shelf{T: t}
	live := next.open()
	next.segments = maps.Clone(h.published)
	if wasPublished {
		next.segments[h.noted.Segment] = last
	}
	o := &Child{Live: live}
	o.Resume(h.noted, time.Now(), wasPublished)
	o.known = false
	for _, chunk := range chunks[h.next:] {
		o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: bytes.Clone(chunk)})
		<-time.After(40 * time.Millisecond) // of the bubble's clock
	}
	o.Rest()
	o.Live.Flush()
	gaps, told := 0, 0
	for _, e := range next.told(o.Live.Seq) {
		switch e.Type {
		case delegation.EventGap:
			gaps++
		case delegation.EventStdout: // what was said of a line whose beginning is lost
		default:
			at := slices.IndexFunc(want[told:], func(w delegation.Event) bool { return reflect.DeepEqual(w, e) })
			if at < 0 {
				t.Fatalf("after the note of segment %d the agent is told to have done %.300v", h.noted.Segment, e.Tool)
			}
			told += at + 1
		}
	}
	if gaps == 0 && told != len(want) {
		t.Errorf("after the note of segment %d only %d things are told, and no gap", h.noted.Segment, told)
	}
	if wasPublished && !h.noted.Inside && gaps > 0 {
		t.Errorf("after the note of segment %d a gap is told, and nothing is lost", h.noted.Segment)
	}
}

// TestALineWhoseBeginningIsLost is no event, and the next one is.
func TestALineWhoseBeginningIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := shelf{T: t}
		o := &Child{Live: shelf.open(), Agent: true, Started: true}
		o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: []byte(`{"type":"text",`)})
		o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Gap: true, Bytes: []byte(`"text":"a"}` + "\n" + `{"type":"text","text":"b"}` + "\n")})
		o.Live.Flush()
		want := []delegation.Event{{Type: delegation.EventGap}, {Type: delegation.EventStdout, Text: `"text":"a"}` + "\n"}, {Type: delegation.EventText, Text: "b"}}
		if got := shelf.told(o.Live.Seq); !reflect.DeepEqual(got, want) {
			t.Errorf("it told %+v", got)
		}
	})
}

// TestAFloodOfAnAgentsLines fits into segments, whatever their encoding makes of them, and says that something is missing.
func TestAFloodOfAnAgentsLines(t *testing.T) {
	for name, text := range map[string]string{
		"short": "a", "as long as can be": strings.Repeat("y", agent.MaxLine-200), "twice as long when encoded": strings.Repeat("\u2028", agent.MaxLine/3-70),
		"short when decoded": strings.Repeat(`\u0001`, agent.MaxLine/6-40),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf := shelf{T: t}
				o := &Child{Live: shelf.open(), Agent: true, Started: true}
				said := []byte(`{"type":"text","text":"` + text + `"}` + "\n")
				if _, err := agent.Decode(said[:len(said)-1]); err != nil {
					t.Fatal("the oracle is dead:", err)
				}
				lines := max(100, 100_000/len(said))
				for range lines {
					o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: said})
				}
				o.Live.Flush()
				told := shelf.told(o.Live.Seq)
				if len(told) == 0 || told[0].Type != delegation.EventText || shelf.most > delegation.MaxSegment {
					t.Errorf("%d events, the largest segment has %d bytes", len(told), shelf.most)
				}
				if gap := func(e delegation.Event) bool { return e.Type == delegation.EventGap }; len(told) == lines || !slices.ContainsFunc(told, gap) {
					t.Errorf("%d events without a gap", len(told))
				}
			})
		})
	}
}

// TestTheFirstEventIsShownAtOnce, and the next ones together.
func TestTheFirstEventIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := shelf{T: t}
		o := &Child{Live: shelf.open(), Agent: true, Started: true}
		for range 3 {
			o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: []byte(`{"type":"text","text":"a"}` + "\n")})
		}
		if len(shelf.segments) != 1 || len(shelf.segments[1]) != 1 {
			t.Errorf("there are the segments %v", shelf.segments)
		}
	})
}

// TestAnAgentsLinesAreReadable for an operator, who may begin to read anywhere.
func TestAnAgentsLinesAreReadable(t *testing.T) {
	const said = `{"type":"text","text":"hello"}` + "\nplain\n" + `{"type":"tool_call","tool":{"name":"Bash","input":{"command":"ls"}}}` + "\n"
	const want = "hello\nplain\n> Bash ls\n"
	for cut := range len(said) {
		var r Readable
		if got := string(r.Take([]byte(said[:cut]))) + string(r.Take([]byte(said[cut:]))); got != want {
			t.Fatalf("cut at %d it reads %q", cut, got)
		}
	}
	var torn Readable
	torn.Tear()
	if got := string(torn.Take([]byte(`"text":"x"}` + "\n" + said))); got != `"text":"x"}`+"\n"+want {
		t.Errorf("behind a gap it reads %q", got)
	}
}
