package adapter_test

import (
	"os"
	"strings"
	"testing"

	"torno/internal/agent"
)

// parent writes to an adapter's standard input.
type parent struct {
	*testing.T

	to *os.File
}

func (r *rig) parent() parent {
	r.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		r.Fatal(err)
	}
	r.cmd.Stdin = read
	r.Cleanup(func() { read.Close(); write.Close() })
	return parent{r.T, write}
}

func (p parent) write(text string) {
	p.Helper()
	if _, err := p.to.WriteString(text); err != nil {
		p.Fatal(err)
	}
}

func (p parent) say(n int, kind agent.InputKind, text string) {
	p.Helper()
	line, err := agent.EncodeInput(agent.Input{N: n, Kind: kind, Text: text})
	if err != nil {
		p.Fatal(err)
	}
	p.write(string(line))
}

// hears writes down each line that it reads, ends its turn with one that says so, and stays until there is a file.
const hears = `while read -r line; do printf '%s\n' "$line" >>$D/heard; case "$line" in *finish*) ` + claudeEnds + `;; esac; done; until [ -e $D/go ]; do :; done`

// TestAnAgentIsToldOnce what was written to its adapter, in order, whatever was torn, doubled or planted between. What comes after its
// last turn it does not get, and that is said.
func TestAnAgentIsToldOnce(t *testing.T) {
	r := newRig(t, "claude", hears)
	p := r.parent()
	r.start()
	p.write(`{"n":1,"type":"mess`) // a watcher died
	p.say(1, agent.Message, "one \"é\"\n")
	p.say(1, agent.Message, "one \"é\"\n")
	p.write("nonsense\n{}\n{\"n\":9,\"type\":\"decision\"}\n{\"n\":-1,\"type\":\"message\",\"text\":\"x\"}\n\xff\n")
	p.write(strings.Repeat("x", agent.MaxInputLine+1) + "\n")
	p.say(3, agent.Interrupt, "three")
	p.say(2, agent.Message, "too small a number")
	p.say(4, agent.Message, strings.Repeat("ü", 32<<10))
	p.say(5, agent.Message, "finish")
	r.until(`"type":"result"`)
	p.say(6, agent.Message, "late")
	r.until(`"n":6`)
	p.say(1, agent.Message, "one")
	r.untilTimes(2, `"text":"one \"é\"\n","n":1}`+"\n")
	r.plant("go", "", 0o600)
	code, told := r.wait()
	if code != 0 {
		t.Errorf("exit %d: %s", code, r.read("stderr"))
	}
	heard := strings.Split(r.read("heard"), "\n")
	want := []string{`"content":"do it"`, `"content":"one \"é\"\n"`, `{"type":"control_request","request_id":"torno-3","request":{"subtype":"interrupt"}}`, `"content":"three"`, `"content":"üü`, `"content":"finish"`, ""}
	if len(heard) != len(want) {
		t.Fatalf("it heard %d lines, %.2000q", len(heard), heard)
	}
	for i := range want {
		if !strings.Contains(heard[i], want[i]) {
			t.Errorf("line %d is %.200q, want %q in it", i, heard[i], want[i])
		}
	}
	got := map[int]int{}
	for _, l := range told {
		if l.Kind != agent.Acknowledged {
			continue
		}
		got[l.N]++
		if l.Failed != (l.N == 6) {
			t.Errorf("%+v", l)
		}
	}
	if got[2] != 0 || got[3] != 1 || got[4] != 1 || got[5] != 1 || got[6] != 1 || got[1] < 2 {
		t.Errorf("acknowledged, and how often: %v", got)
	}
}

// TestCodexIsToldNothing where it does one task and is no server: what its parent says is refused, with the reason.
func TestCodexIsToldNothing(t *testing.T) {
	r := newRig(t, "codex", "until [ -e $D/go ]; do :; done; "+codexAnswers)
	p := r.parent()
	r.start()
	p.say(1, agent.Message, "hello")
	r.until("codex did not get it: it takes no messages while it works")
	r.plant("go", "", 0o600)
	if code, _ := r.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestAnAgentThatReadsNothing ends as it does without a parent that speaks.
func TestAnAgentThatReadsNothing(t *testing.T) {
	r := newRig(t, "claude", "until [ -e $D/go ]; do :; done; "+claudeEnds)
	p := r.parent()
	r.start()
	for n := range 40 {
		p.say(n+1, agent.Message, strings.Repeat("x", 64<<10))
	}
	r.plant("go", "", 0o600)
	if code, told := r.wait(); code != 0 || len(told) == 0 {
		t.Errorf("exit %d, %+v", code, told)
	}
}

// TestTheInputEndsBehindTheLastMessage also where the agent has ended its turn before it was told all: an agent that reads on would never end.
func TestTheInputEndsBehindTheLastMessage(t *testing.T) {
	r := newRig(t, "claude", "until [ -e $D/go ]; do :; done; "+claudeEnds+"; until [ -e $D/read ]; do :; done; cat >$D/heard")
	p := r.parent()
	r.start()
	for n := range 3 { // the agent's pipe has no room for the first, so it waits
		p.say(n+1, agent.Message, strings.Repeat("x", 64<<10))
	}
	r.plant("go", "", 0o600)
	r.until(`"type":"result"`)
	r.plant("read", "", 0o600)
	if code, _ := r.wait(); code != 0 || len(r.read("heard")) < 128<<10 {
		t.Errorf("exit %d, and it heard %d bytes", code, len(r.read("heard")))
	}
}
