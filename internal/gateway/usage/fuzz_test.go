package usage

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
)

// FuzzMeter: pieces do not matter, and no number is negative or absurd.
func FuzzMeter(f *testing.F) {
	for _, a := range answers {
		f.Add(a.api, a.contentType, []byte(a.body), 7)
	}
	f.Fuzz(func(t *testing.T, api, contentType string, body []byte, at int) {
		want, wantOK := read(t, api, contentType, string(body))
		at = max(0, min(at, len(body)))
		if got, ok := read(t, api, contentType, string(body[:at]), string(body[at:])); got != want || ok != wantOK {
			t.Errorf("split at %d: %+v, %v; whole: %+v, %v", at, got, ok, want, wantOK)
		}
		m := NewMeter(api, contentType)
		for i := range body {
			m.Write(body[i : i+1])
		}
		if got, ok := m.Usage(); got != want || ok != wantOK {
			t.Errorf("byte by byte: %+v, %v; whole: %+v, %v", got, ok, want, wantOK)
		}
		for _, n := range []int64{want.Input, want.Output, want.CacheRead, want.CacheWrite, want.CacheWriteHour} {
			if n < 0 || n > 2*maxTokens {
				t.Errorf("it tells %+v", want)
			}
		}
		if !wantOK && want != (Usage{}) {
			t.Errorf("it tells %+v and does not stand by it", want)
		}
	})
}

// FuzzScanner holds the scanner against encoding/json: it takes the same documents, and finds the same in them.
func FuzzScanner(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a.body))
	}
	for _, e := range append(anthropicEvents, googlePieces...) {
		f.Add([]byte(e))
	}
	f.Add([]byte(`{"\u0075sage":{"input_tokens":1},"usage":{"input_tokens":2,"output_tokens":-0,"x":[0.5e-7,{"usage":1}]},"type":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, root := range []*node{anthropic.event, google.whole, chat.whole} {
			compare(t, root, body)
		}
	})
}

func compare(t *testing.T, root *node, body []byte) {
	s := scanner{root: root}
	for _, c := range body {
		s.read(c)
	}
	if valid := json.Valid(body); s.complete() != valid {
		if !valid || len(body) < 2*maxDepth { // deeper ones are not read
			t.Fatalf("%q: complete %v, valid %v", body, s.complete(), valid)
		}
		return
	}
	if !s.complete() {
		return
	}
	w := walker{Decoder: json.NewDecoder(bytes.NewReader(body))}
	w.UseNumber()
	w.value(root)
	if s.found != w.found && !w.long {
		t.Fatalf("%q: found %+v, want %+v", body, s.found, w.found)
	}
}

// walker finds what a tree looks for in a valid document, the simple way.
type walker struct {
	*json.Decoder
	found found
	long  bool // a text is so long that the scanner may not have kept it
}

func (w *walker) value(n *node) {
	token, err := w.Token()
	if err != nil {
		panic(err)
	}
	if n == nil {
		n = &node{}
	}
	isNumber := n.slot != none && n.slot < firstText
	switch token := token.(type) {
	case json.Delim:
		w.found.bad = w.found.bad || isNumber
		for w.More() {
			below := n.each
			if token == '{' {
				key, _ := w.Token()
				below = n.keys[key.(string)]
			}
			w.value(below)
		}
		w.Token()
	case json.Number:
		count, err := strconv.ParseUint(string(token), 10, 63)
		switch {
		case !isNumber:
		case err != nil || count > maxTokens:
			w.found.bad = true
		default:
			w.found.count(n.slot, int64(count))
		}
	case string:
		w.found.bad = w.found.bad || isNumber
		if n.slot >= firstText {
			w.long = w.long || len(token) > maxToken/6
			w.found.say(n.slot, token)
		}
	case bool:
		w.found.bad = w.found.bad || isNumber
	}
}
