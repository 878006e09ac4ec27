package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/internal/agent"
	"torno/sandbox"
)

// TestAQuestionWhoseWatcherDies between any two of its bytes, or among the rest of a chunk, is taken by that watcher or by the next one, with all
// that the agent says after it. What is published in part meanwhile is other output: of the program beside the adapter, or on standard error.
func TestAQuestionWhoseWatcherDies(t *testing.T) {
	question, err := agent.Encode(agent.Line{Kind: agent.Ask, Ask: "q", Tool: &agent.Tool{ID: "t", Name: "Bash", Input: []byte(`{"command":"make"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	question = append(question, `{"type":"text","text":"after"}`+"\n"...)
	flood := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 400)
	for name, between := range map[string]func(cut int) []sandbox.Chunk{
		"standard error": func(cut int) []sandbox.Chunk {
			return []sandbox.Chunk{
				{Stream: sandbox.Stdout, Bytes: question[:cut]}, {Stream: sandbox.Stderr, Bytes: flood}, {Stream: sandbox.Stdout, Bytes: question[cut:]},
			}
		},
		"before it in its chunk": func(cut int) []sandbox.Chunk {
			return []sandbox.Chunk{{Stream: sandbox.Stdout, Bytes: slices.Concat(flood, question[:cut])}, {Stream: sandbox.Stdout, Bytes: question[cut:]}}
		},
		"behind it in its chunk": func(cut int) []sandbox.Chunk {
			return []sandbox.Chunk{{Stream: sandbox.Stdout, Bytes: question[:cut]}, {Stream: sandbox.Stdout, Bytes: slices.Concat(question[cut:], flood)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				notes := 0
				for cut := range question {
					notes += diesWhileItNotes(t, between(cut), cut)
				}
				if notes < 2*len(question) {
					t.Errorf("the oracle is dead: %d notes", notes)
				}
			})
		})
	}
}

// diesWhileItNotes takes chunks, and has a next watcher go on from each note that was made of them. It returns how many there were.
func diesWhileItNotes(t *testing.T, chunks []sandbox.Chunk, cut int) int {
	t.Helper()
	shelf := shelf{T: t}
	asked, at := 0, 0
	o := &Child{Live: shelf.open(), Agent: true, Started: true, OnAsk: func(agent.Line) { asked++ }}
	type death struct {
		handover
		asked int
	}
	var all []death
	o.Live.Note = func() {
		var noted Progress
		data, err := json.Marshal(o.Progress())
		if err == nil {
			err = json.Unmarshal(data, &noted)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, death{handover{noted, at + 1, maps.Clone(shelf.segments)}, asked})
	}
	for at = range chunks {
		o.Take(chunks[at])
		<-time.After(SegmentAge) // of the bubble's clock
	}
	o.Live.Flush()
	if asked != 1 {
		t.Fatalf("without a death it is asked %d times", asked)
	}
	for i, d := range all {
		asked = d.asked
		rest := d.shelf(t)
		next := &Child{Live: rest.more(), OnAsk: func(agent.Line) { asked++ }}
		next.Resume(d.noted, time.Now(), true)
		next.known = false
		for _, chunk := range chunks[d.next:] {
			next.Take(chunk)
			<-time.After(SegmentAge)
		}
		next.Live.Flush()
		if asked != 1 {
			t.Errorf("cut at %d, killed at note %d: asked %d times", cut, i, asked)
		}
		if text := fmt.Sprint(rest.told(next.Live.Seq)); asked == 1 && d.asked == 0 && !strings.Contains(text, "{text after") && !strings.Contains(text, "gap") {
			t.Errorf("cut at %d, killed at note %d: what comes after it is lost: %.300s", cut, i, text)
		}
	}
	return len(all)
}

// shelf has what was published when the watcher died.
func (h handover) shelf(t *testing.T) *shelf {
	return &shelf{T: t, segments: maps.Clone(h.published)}
}
