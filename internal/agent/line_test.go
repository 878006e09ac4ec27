package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

var good = []Line{
	{Kind: Text, Text: "hi"},
	{Kind: Text, Text: "<&>\u2028\x00\n", More: true, Parent: "toolu_1"},
	{Kind: Thinking},
	{Kind: ToolCall, Tool: &Tool{ID: "a", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}},
	{Kind: ToolCall, Tool: &Tool{Cut: true}},
	{Kind: ToolResult, Tool: &Tool{ID: "a"}, Text: "out", Failed: true},
	{Kind: Usage, Tokens: &Tokens{Input: 1, Output: 2, Cached: 3}},
	{Kind: Usage, Tokens: &Tokens{}},
	{Kind: Result, Text: "answer"},
	{Kind: Result, Failed: true},
	{Kind: Notice, Text: "again"},
	{Kind: Raw, Text: "?"},
}

func TestLines(t *testing.T) {
	for _, l := range good {
		data, err := Encode(l)
		if err != nil || bytes.IndexByte(data, '\n') != len(data)-1 {
			t.Errorf("%+v: %q, %v", l, data, err)
			continue
		}
		if got, err := Decode(data[:len(data)-1]); err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%+v came back as %+v: %v", l, got, err)
		}
	}
}

// TestStrangeLines: what no adapter writes is not taken, and none can be made to write it.
func TestStrangeLines(t *testing.T) {
	name := strings.Repeat("n", maxName+1)
	for _, l := range []Line{
		{},
		{Kind: "other"},
		{Kind: "TEXT"},
		{Kind: Text, Tool: &Tool{}},
		{Kind: ToolCall},
		{Kind: ToolResult},
		{Kind: Usage},
		{Kind: Text, Tokens: &Tokens{}},
		{Kind: Usage, Tokens: &Tokens{Input: -1}},
		{Kind: Usage, Tokens: &Tokens{Output: -1}},
		{Kind: Usage, Tokens: &Tokens{Cached: -1}},
		{Kind: Text, Failed: true},
		{Kind: ToolCall, Tool: &Tool{}, Failed: true},
		{Kind: Text, Parent: name},
		{Kind: ToolCall, Tool: &Tool{ID: name}},
		{Kind: ToolCall, Tool: &Tool{Name: name}},
		{Kind: Text, Text: strings.Repeat("x", MaxLine)},
		{Kind: ToolCall, Tool: &Tool{Input: json.RawMessage("{")}},
		{Kind: ToolCall, Tool: &Tool{Input: json.RawMessage("\"\xff\"")}},
	} {
		if data, err := Encode(l); err == nil {
			t.Errorf("%+v became %s", l, data)
		}
	}
	for _, text := range []string{
		"", " ", "null", "1", `"text"`, "[]", "{}", "{", `{"type":"text"`, `{"type":"text"}{}`, `{"type":"text"} x`, `{"type":"text"},`,
		`{"type":"text","other":1}`, `{"type":"tool_call","tool":{"other":1}}`, `{"type":"usage","tokens":{"other":1}}`,
		`{"type":"text","text":1}`, `{"type":1}`, `{"type":"usage","tokens":{"input":1.5,"output":0}}`, `{"type":"usage","tokens":{"input":1e30,"output":0}}`,
		`{"type":"usage","tokens":{"input":9223372036854775808,"output":0}}`, "{\"type\":\"text\",\"text\":\"\xff\"}", "{\"type\":\"text\",\"text\":\"\x01\"}",
		`{"type":"tool_call","tool":{"input":` + strings.Repeat("[", MaxLine/2) + `}}`,
	} {
		if l, err := Decode([]byte(text)); err == nil {
			t.Errorf("%.60q was taken as %+v", text, l)
		}
	}
}

// TestTheLongestLine: its end counts.
func TestTheLongestLine(t *testing.T) {
	room := MaxLine - len(`{"type":"raw","text":""}`+"\n")
	for length, fits := range map[int]bool{room: true, room + 1: false} {
		text := strings.Repeat("x", length)
		data, err := Encode(Line{Kind: Raw, Text: text})
		if (err == nil) != fits || fits && len(data) != MaxLine {
			t.Errorf("a text of %d bytes became %d: %v", length, len(data), err)
		}
		if _, err := Decode([]byte(`{"type":"raw","text":"` + text + `"}`)); (err == nil) != fits {
			t.Errorf("a text of %d bytes: %v", length, err)
		}
	}
}

// FuzzDecode: what is taken is bounded, and comes back as it is once it has been written. It can become longer: JSON has a short and a
// long form for some characters.
func FuzzDecode(f *testing.F) {
	for _, l := range good {
		data, err := Encode(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:len(data)-1])
	}
	f.Add([]byte(`{"type":"tool_call","tool":{"input":[1,2.50,1e999,"\ud800"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := Decode(text)
		if err != nil {
			return
		}
		if len(text) >= MaxLine || !first.Kind.isKnown() {
			t.Fatalf("%d bytes were taken", len(text))
		}
		data, err := Encode(first)
		if err != nil {
			if len(text) > MaxLine/2-64 {
				return
			}
			t.Fatalf("%+v cannot be written: %v", first, err)
		}
		second, err := Decode(data[:len(data)-1])
		if err != nil {
			t.Fatal(err)
		}
		again, err := Encode(second)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
	})
}

// TestLinesOfParentsAreNone: a child cannot tell its parent's words.
func TestLinesOfParentsAreNone(t *testing.T) {
	for _, kind := range []string{"message", "interrupt", "input", "decision"} {
		if l, err := Decode([]byte(`{"type":"` + kind + `","text":"x"}`)); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	for _, text := range []string{
		`{"type":"acknowledged"}`, `{"type":"acknowledged","n":0}`, `{"type":"acknowledged","n":-1}`, `{"type":"acknowledged","n":1e99}`, `{"type":"text","text":"x","n":1}`,
		`{"type":"acknowledged","n":1,"tokens":{}}`, `{"type":"acknowledged","n":1,"tool":{}}`,
	} {
		if l, err := Decode([]byte(text)); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}

// TestParts: a part of a session says which bytes it is, within bounds.
func TestParts(t *testing.T) {
	good := Part{Bundle: 1, Offset: MaxBundle - MaxPart, Data: make([]byte, MaxPart), Last: true, Version: strings.Repeat("1", maxVersion)}
	line, err := Encode(Line{Kind: Session, Part: &good})
	if err != nil || len(line) > MaxLine {
		t.Errorf("the longest part is a line of %d bytes: %v", len(line), err)
	}
	for what, change := range map[string]func(*Part){
		"bundle 0":            func(p *Part) { p.Bundle = 0 },
		"a bundle too many":   func(p *Part) { p.Bundle = MaxBundles + 1 },
		"behind the end":      func(p *Part) { p.Offset++ },
		"before the start":    func(p *Part) { p.Offset = -1 },
		"far behind":          func(p *Part) { p.Offset = math.MaxInt64 },
		"nothing":             func(p *Part) { p.Data = nil },
		"too much":            func(p *Part) { p.Data, p.Offset = make([]byte, MaxPart+1), 0 },
		"an early version":    func(p *Part) { p.Last = false },
		"a long version":      func(p *Part) { p.Version += "1" },
		"control in versions": func(p *Part) { p.Version = "1\x1b[2J" },
	} {
		bad := good
		change(&bad)
		if _, err := Encode(Line{Kind: Session, Part: &bad}); err == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
	for _, text := range []string{`{"type":"session"}`, `{"type":"text","part":{"bundle":1,"offset":0,"data":"eA=="}}`} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
