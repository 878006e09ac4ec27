package adapter

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"torno/internal/agent"
)

// mostLines bounds what a parser makes of n bytes: a line for each part of a message, of which maxElements are taken, and one more for
// so many bytes of text.
func mostLines(n int) int { return 2*maxElements + 10 + n*6/(agent.MaxLine/2) }

// holds checks what a parser has made of a line.
func holds(t *testing.T, text []byte, told []agent.Line) {
	t.Helper()
	if len(told) > mostLines(len(text)) {
		t.Errorf("%d bytes became %d lines", len(text), len(told))
	}
	for i, l := range told {
		data, err := agent.Encode(l)
		if err != nil || len(data) > agent.MaxLine {
			t.Fatalf("%+v: %d bytes, %v", l, len(data), err)
		}
		if l.More && (i+1 == len(told) || told[i+1].Kind != l.Kind) {
			t.Errorf("more of %s does not follow", l.Kind)
		}
	}
}

func fuzzParser(f *testing.F, name string) {
	for _, file := range transcripts(f, name) {
		for line := range bytes.Lines(load(f, file)) {
			f.Add(line)
		}
	}
	for _, text := range hostile {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k := kindOfWay(name)
		for range 2 { // the second time in the state after the first
			holds(t, text, read(k.parser, text))
		}
	})
}

func FuzzClaude(f *testing.F) { fuzzParser(f, "claude") }

func FuzzCodex(f *testing.F) { fuzzParser(f, "codex") }

func FuzzCodexServer(f *testing.F) { fuzzParser(f, "codex-server") }

// FuzzCodexConversation: whatever a server prints in whatever order, while a parent says things and questions are decided, each thing that
// was said is acknowledged at most once, what goes to the server is JSON by line, and all of it is bounded.
func FuzzCodexConversation(f *testing.F) {
	for _, file := range transcripts(f, "codex-server") {
		f.Add(load(f, file))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		k := kindOfWay("codex-server")
		replies, told := 0, map[int]int{}
		k.server.reply = func(line []byte) {
			replies++
			for part := range bytes.Lines(line) {
				if !json.Valid(part) {
					t.Errorf("it is asked %q", part)
				}
			}
		}
		decides(&k)
		k.server.open("task")
		lines := 0
		for line := range bytes.Lines(output) {
			if lines++; lines <= 8 {
				kind := []agent.InputKind{agent.Message, agent.Interrupt}[lines%2]
				n := lines
				k.server.say(agent.Input{N: n, Kind: kind, Text: strings.Repeat("x", lines%3)}, func(error) { told[n]++ })
			}
			holds(t, line, read(k.parser, line))
			k.server.busy()
		}
		for n, times := range told {
			if times > 1 {
				t.Errorf("%d was acknowledged %d times", n, times)
			}
		}
		if most := 20 * (lines + 8); replies > most || len(k.server.waiting) > 8 {
			t.Errorf("%d lines have made %d of ours, and %d wait", lines, replies, len(k.server.waiting))
		}
	})
}

// FuzzSplit: the lines are those of the stream, however it comes; what is too long is counted, and never held.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("a\n\nbb\n"), 2, 1)
	f.Add([]byte("a\nwithout an end"), 5, 3)
	f.Fuzz(func(t *testing.T, data []byte, most, size int) {
		most, size = 1+(most&math.MaxInt)%64, 1+(size&math.MaxInt)%16
		var whole, long []string
		s := splitter{
			most:    most,
			tooLong: func(n int64) { long = append(long, strings.Repeat("x", int(n))) },
			whole: func(line []byte) {
				if len(line) > 0 {
					whole = append(whole, string(line))
				}
			},
		}
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if s.add(rest[:min(size, len(rest))]); len(s.held) > most {
				t.Fatalf("%d bytes are held", len(s.held))
			}
		}
		s.end()
		for line := range strings.SplitSeq(string(data), "\n") {
			switch {
			case line == "":
			case len(line) <= most && len(whole) > 0 && whole[0] == line:
				whole = whole[1:]
			case len(line) > most && len(long) > 0 && len(long[0]) == len(line):
				long = long[1:]
			default:
				t.Fatalf("%q is missing", line)
			}
		}
		if len(whole)+len(long) > 0 {
			t.Fatalf("%q and %q were never printed", whole, long)
		}
	})
}

// FuzzCut: the parts are the text, each is valid and as long as it may be, and what room says is what JSON takes.
func FuzzCut(f *testing.F) {
	f.Add("plain \" \\ \x00 \u2028 é 𝄞 <&>", 3000)
	f.Fuzz(func(t *testing.T, text string, length int) {
		text = valid(text)
		text = strings.Repeat(text, (length&math.MaxInt)%(1+30_000/(1+len(text))))
		told := tell(agent.Line{Kind: agent.Raw, Text: text})
		var all strings.Builder
		for i, l := range told {
			data, err := agent.Encode(l)
			if err != nil {
				t.Fatal(err)
			}
			if l.More != (i+1 < len(told)) {
				t.Errorf("line %d of %d: more is %v", i, len(told), l.More)
			}
			if l.More && len(data) < agent.MaxLine-64 {
				t.Errorf("line %d of %d has only %d bytes", i, len(told), len(data))
			}
			all.WriteString(l.Text)
		}
		if all.String() != text {
			t.Error("the parts are not the text")
		}
	})
}
