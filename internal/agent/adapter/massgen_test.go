package adapter

import (
	"os"
	"slices"
	"strings"
	"testing"

	"torno/internal/agent"
)

// asEvents is a MassGen's reader of events, as a parser.
type asEvents struct{ *massgen }

func (e asEvents) line(text []byte) []agent.Line { return e.event(text) }

// TestMassGensEvents: what its events become. They are written from what its source says of each, and were not recorded.
func TestMassGensEvents(t *testing.T) {
	for _, file := range transcripts(t, "massgen") {
		m := &massgen{}
		got := replay(t, asEvents{m}, load(t, file))
		golden := strings.TrimSuffix(file, ".in") + ".lines"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := string(load(t, golden)); got != want {
			t.Errorf("%s became\n%s\nand not\n%s\nIf that is right, write it with -update", file, got, want)
		}
		if !m.understood || !m.spoke || m.final != "Three files." || m.trouble != "Rate limit" {
			t.Errorf("%+v", m.said)
		}
	}
}

// TestMassGensArguments: those with which its own watcher starts it, and the task is never an option.
func TestMassGensArguments(t *testing.T) {
	k, ok := kindOf("massgen", false)
	if !ok || !k.hears() || k.asks != nil || k.settings != nil {
		t.Fatalf("%+v", k)
	}
	m := k.files
	m.config, m.output, m.task = "/c", "/a", "--task @/etc:w"
	args := k.args("model", func(string) string { return "" })
	if want := []string{"--config", "/c", "--automation", "--no-parse-at-references", "--output-file", "/a", "--", "--task @/etc:w"}; !slices.Equal(args, want) {
		t.Errorf("%q", args)
	}
	if resumed := k.sessions.resume(args, "session_1"); !slices.Equal(resumed, append([]string{"--session-id", "session_1"}, args...)) {
		t.Errorf("%q", resumed)
	}
	for name, ok := range map[string]bool{"session_20260326_101010": true, "-x": false, "a/b": false, "..": false, "": false} {
		if isSessionID(name) != ok {
			t.Errorf("%q names a session: %v", name, !ok)
		}
	}
}

// TestMassGensStatus: the phase is told when it changes, tokens are bounded, and nonsense is no status.
func TestMassGensStatus(t *testing.T) {
	m := &massgen{}
	for _, step := range []struct {
		text, told string
		ok         bool
	}{
		{`{"coordination":{"phase":"enforcement","completion_percentage":40}}`, "phase enforcement, 40 %", true},
		{`{"coordination":{"phase":"enforcement","completion_percentage":50}}`, "", true},
		{`{"coordination":{"phase":"presentation","completion_percentage":1e300},"costs":{"total_input_tokens":-1,"total_output_tokens":1e300}}`, "phase presentation, 100 %", true},
		{`{"coordination":{"phase":"` + strings.Repeat("x", 1<<20) + `"}}`, "phase " + strings.Repeat("x", maxName), true},
		{`{"coordination":`, "", false},
		{`{"coordination":{"phase":1}}`, "", false},
		{`[]`, "", false},
	} {
		told, ok := m.status([]byte(step.text))
		text := ""
		if len(told) > 0 {
			text = told[0].Text
		}
		if ok != step.ok || text != step.told {
			t.Errorf("%.80s: %v, %.300q", step.text, ok, text)
		}
	}
	if m.usage.Input != 0 || m.usage.Output <= 0 {
		t.Errorf("%+v", m.usage)
	}
	if spent := m.spends(); len(spent) != 1 {
		t.Errorf("%+v", spent)
	} else if _, err := agent.Encode(spent[0]); err != nil {
		t.Error(err)
	}
}

func FuzzMassGenEvent(f *testing.F) {
	for _, file := range transcripts(f, "massgen") {
		for line := range strings.Lines(string(load(f, file))) {
			f.Add([]byte(line))
		}
	}
	for _, text := range hostile {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &massgen{}
		for range 2 {
			holds(t, text, readBy(m.event, text))
			told, _ := m.status(text)
			holds(t, text, told)
			holds(t, text, m.spends())
		}
	})
}
