package adapter

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/agent"
)

var update = flag.Bool("update", false, "write what the parsers make of the transcripts")

// transcripts are testdata's files, of an agent. All but forms.in and mcp.in are what the real programs printed, offline.
func transcripts(t testing.TB, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", name, "*.in"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts of %s: %v", name, err)
	}
	return files
}

func load(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ways are the agents, and Codex in both of its ways.
var ways = []string{"claude", "codex", "codex-server"}

// kindOfWay is one of them.
func kindOfWay(way string) kind {
	name, server := strings.CutSuffix(way, "-server")
	k, _ := kindOf(name, server)
	return k
}

// replay has a parser read a whole output, and returns its lines as they are written.
func replay(t *testing.T, p parser, output []byte) string {
	t.Helper()
	var told strings.Builder
	s := splitter{most: maxLine, tooLong: func(n int64) { t.Errorf("a line of %d bytes", n) }, whole: func(line []byte) {
		for _, l := range read(p, line) {
			data, err := agent.Encode(l)
			if err != nil {
				t.Errorf("%+v: %v", l, err)
			}
			told.Write(data)
		}
	}}
	s.add(output)
	s.end()
	return told.String()
}

// TestTranscripts: what real agents printed becomes these lines.
func TestTranscripts(t *testing.T) {
	for _, way := range ways {
		for _, file := range transcripts(t, way) {
			k := kindOfWay(way)
			if strings.Contains(filepath.Base(file), "asked") {
				decides(&k)
			}
			got := replay(t, k.parser, load(t, file))
			golden := strings.TrimSuffix(file, ".in") + ".lines"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(load(t, golden)); got != want {
				t.Errorf("%s became\n%s\nand not\n%s\nIf that is right, write it with -update", file, got, want)
			}
		}
	}
}

// TestOutcomes: which transcripts are answers, and which are failures.
func TestOutcomes(t *testing.T) {
	tests := map[string]said{
		"claude/text":        {over: true, text: "You said: hello"},
		"claude/two":         {over: true, text: "…"},
		"claude/refused":     {over: true, failed: true, text: "API Error: 400 the stand-in was told to answer so"},
		"claude/turns":       {over: true, failed: true, text: "ended with error_max_turns: Reached maximum number of turns (1)"},
		"claude/interrupted": {over: true, failed: true, text: "…"},
		"claude/terminated":  {},
		"codex/text":         {over: true, text: "You said: hello"},
		"codex/toolfail":     {over: true, text: "…"},
		"codex/cut":          {over: true, failed: true, text: "…"},
		"codex/interrupted":  {},

		"codex-server/text":        {over: true, text: "You said: hello"},
		"codex-server/toolfail":    {over: true, text: "…"},
		"codex-server/refused":     {over: true, failed: true, text: "…"},
		"codex-server/retry":       {over: true, text: "You said: hello"},
		"codex-server/noresume":    {over: true, failed: true, text: "it started no conversation: no rollout found for thread id 01a20c1e-34d4-7023-8663-a963b0dd0ebc"},
		"codex-server/interrupted": {over: true, text: "You said: lost"},
	}
	for name, want := range tests {
		way, _, _ := strings.Cut(name, "/")
		k := kindOfWay(way)
		replay(t, k.parser, load(t, "testdata/"+name+".in"))
		got := k.parser.memory()
		if got.over != want.over || got.failed != want.failed || !got.understood || (want.text != "…" && got.text != want.text) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnyPieces: how the output is cut by pipes changes nothing.
func TestAnyPieces(t *testing.T) {
	output := load(t, "testdata/codex/mcp.in")
	want := replay(t, &codex{}, output)
	for _, size := range []int{1, 7, 100} {
		var got bytes.Buffer
		p := &codex{}
		s := splitter{most: maxLine, whole: func(line []byte) {
			for _, l := range read(p, line) {
				data, _ := agent.Encode(l)
				got.Write(data)
			}
		}}
		for rest := output; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			s.add(rest[:min(size, len(rest))])
		}
		s.end()
		if got.String() != want {
			t.Errorf("in pieces of %d bytes:\n%s", size, got.String())
		}
	}
}
