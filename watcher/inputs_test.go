package watcher

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/runfile"
	"torno/sandbox/sandboxtest"
)

// listener is an agent with its adapter, as far as what it is told goes.
type listener struct {
	mu       sync.Mutex
	told     []string
	answers  chan struct{} // it acknowledges nothing before this is closed
	untruths []agent.Line  // what it acknowledges besides
}

// hears has the desk's one profile name an agent that hears.
func (d *desk) hears() *listener {
	l := &listener{answers: make(chan struct{})}
	d.world.Register(runfile.Init, l.run)
	return l
}

func agentProfile(c *Config) {
	c.Outboxes[0].Policy.Profiles[0].Agent = "claude"
}

func (l *listener) run(ctx context.Context, p sandboxtest.ProgramIO) int {
	lines := bufio.NewScanner(p.Stdin)
	lines.Buffer(nil, agent.MaxInputLine)
	last := 0
	for _, untrue := range l.untruths {
		l.say(p, untrue)
	}
	for lines.Scan() {
		in, err := agent.DecodeInput(lines.Bytes())
		if err != nil {
			continue
		}
		if in.N > last {
			last = in.N
			l.mu.Lock()
			l.told = append(l.told, in.Text)
			l.mu.Unlock()
		}
		select {
		case <-l.answers:
		case <-ctx.Done():
			return 1
		}
		l.say(p, agent.Line{Kind: agent.Acknowledged, N: in.N, Failed: in.Text == "too late", Text: "it is too late"})
		if in.Text == "end" {
			return 0
		}
	}
	return 1
}

func (l *listener) say(p sandboxtest.ProgramIO, line agent.Line) {
	data, _ := agent.Encode(line)
	_, _ = p.Stdout.Write(data)
}

func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.told, ",")
}

// inputName is the file of an input of a run.
func (d *desk) inputName(a ask, n int) string {
	d.Helper()
	id, err := delegation.ParseSubagentID(a.id)
	d.must(err)
	request, err := delegation.ParseRequestID(a.request)
	d.must(err)
	return delegation.InputName(id, request, n)
}

// say writes an input, with changes to its text.
func (d *desk) say(a ask, n int, text string, change ...string) {
	d.Helper()
	in := delegation.Input{Version: 1, SubagentID: a.id, RequestID: a.request, N: n, Kind: delegation.InputMessage, Text: text}
	data, err := in.Encode()
	d.must(err)
	d.drop(d.outbox, d.inputName(a, n), []byte(strings.NewReplacer(change...).Replace(string(data))))
}

// input is what the status says of the run's inputs.
func (d *desk) input(a ask) (status delegation.InputStatus) {
	data, err := os.ReadFile(filepath.Join(d.outbox, "status_"+a.id+".json"))
	if err != nil {
		return status
	}
	whole, err := delegation.DecodeRunStatus(data)
	if err == nil && whole.Input != nil {
		status = *whole.Input
	}
	return status
}

func (d *desk) acknowledged(a ask, n int) {
	d.Helper()
	d.eventually(fmt.Sprintf("input %d is acknowledged", n), func() bool { return d.input(a).Acknowledged >= n })
}

// messages are those among a run's events.
func (d *desk) messages(id string) (said []string) {
	d.Helper()
	files, err := filepath.Glob(filepath.Join(d.outbox, "events_"+id+".*.jsonl"))
	d.must(err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		d.must(err)
		for line := range strings.Lines(string(data)) {
			var e delegation.Event
			d.must(json.Unmarshal([]byte(line), &e))
			if e.Type == delegation.EventMessage {
				said = append(said, e.Text)
			}
		}
	}
	return said
}

// TestWhatAParentSaysReachesTheAgent in the order of the numbers, whatever else has such a name, and what was refused says why.
func TestWhatAParentSaysReachesTheAgent(t *testing.T) {
	d := newDesk(t, agentProfile)
	l := d.hears()
	close(l.answers)
	a := d.submit(ask{id: "s1", task: "x"})
	d.started(a)
	outside := filepath.Join(t.TempDir(), "secret")
	d.must(os.WriteFile(outside, []byte("a secret"), 0o600))
	d.say(a, 9, "end")
	d.say(a, 8, "too late")
	d.say(a, 7, "x", `"n": 7`, `"n": 8`)
	d.say(a, 6, "x", `"s1"`, `"s2"`)
	d.drop(d.outbox, d.inputName(a, 5), make([]byte, delegation.MaxInputFile+1))
	d.must(syscall.Mkfifo(filepath.Join(d.outbox, d.inputName(a, 4)), 0o666))
	d.must(os.Symlink(outside, filepath.Join(d.outbox, d.inputName(a, 3))))
	d.eventually("it says that the first is missing", func() bool { return d.input(a).Missing == 1 })
	d.say(a, 2, "two")
	d.say(a, 1, "one")
	d.response(a)
	d.acknowledged(a, 9)
	if got := l.heard(); got != "one,two,too late,end" {
		t.Errorf("the agent heard %q", got)
	}
	got := map[int]delegation.Code{}
	for _, refused := range d.input(a).Refused {
		got[refused.N] = refused.Code
		if refused.Text == "" || refused.Hint == "" {
			t.Errorf("%+v does not help", refused)
		}
	}
	want := map[int]delegation.Code{
		3: delegation.CodeNotAFile, 4: delegation.CodeNotAFile, 5: delegation.CodeTooBig, 6: delegation.CodeIDMismatch,
		7: delegation.CodeIDMismatch, 8: delegation.CodeInputLate,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("refused are %v, want %v", got, want)
	}
	if said := d.messages("s1"); !slices.Equal(said, []string{"one", "two", "end"}) {
		t.Errorf("the events have %q", said)
	}
	d.remove("request_s1.json")
	d.listed()
	d.eventually("what was said is taken away", func() bool { files, _ := filepath.Glob(filepath.Join(d.outbox, "input_*")); return len(files) == 0 })
}

// TestAnInputReachesTheAgentOnce also where the watcher dies after it was sent, and before or after it was acknowledged.
func TestAnInputReachesTheAgentOnce(t *testing.T) {
	d := newDesk(t, agentProfile)
	l := d.hears()
	a := d.submit(ask{id: "s1", task: "x"})
	d.started(a)
	d.say(a, 1, "one")
	d.eventually("the agent has it", func() bool { return l.heard() == "one" })
	d.crash()
	close(l.answers)
	d.say(a, 2, "two")
	d.open()
	d.acknowledged(a, 2)
	d.crash()
	d.open()
	d.say(a, 3, "end")
	d.response(a)
	if got := l.heard(); got != "one,two,end" {
		t.Errorf("the agent heard %q", got)
	}
	if said := d.messages("s1"); !slices.Equal(said, []string{"one", "two", "end"}) {
		t.Errorf("the events have %q", said)
	}
}

// TestWhatWasNotSentIsNotAcknowledged: an adapter's untrue word is told, and counts for nothing.
func TestWhatWasNotSentIsNotAcknowledged(t *testing.T) {
	d := newDesk(t, agentProfile)
	l := d.hears()
	close(l.answers)
	l.untruths = []agent.Line{{Kind: agent.Acknowledged, N: 1}, {Kind: agent.Acknowledged, N: 1 << 40}}
	a := d.submit(ask{id: "s1", task: "x"})
	d.printed("s1", "acknowledged an input that was not sent")
	if got := d.input(a); got.Acknowledged != 0 {
		t.Errorf("%+v is acknowledged", got)
	}
	d.say(a, 1, "end")
	d.response(a)
	d.acknowledged(a, 1)
	if got := l.heard(); got != "end" {
		t.Errorf("the agent heard %q", got)
	}
}

// TestAProgramThatTakesNoInput: each is refused, with the next step.
func TestAProgramThatTakesNoInput(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.say(a, 1, "one")
	d.say(a, 2, "two")
	d.acknowledged(a, 2)
	if refused := d.input(a).Refused; len(refused) != 2 || refused[1].Code != delegation.CodeInputNotTaken || refused[1].Hint == "" {
		t.Errorf("refused are %+v", refused)
	}
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAnAgentThatDoesNotRead holds up neither its own end nor the watcher, however much it is told.
func TestAnAgentThatDoesNotRead(t *testing.T) {
	d := newDesk(t, agentProfile)
	d.world.Register(runfile.Init, func(ctx context.Context, _ sandboxtest.ProgramIO) int {
		<-ctx.Done()
		return 1
	})
	a := d.submit(ask{id: "s1", task: "x"})
	d.started(a)
	for n := range 40 {
		d.say(a, n+1, strings.Repeat("x", 60<<10))
	}
	d.say(a, delegation.MaxInputs, "far")
	d.drop(d.outbox, d.inputName(a, delegation.MaxInputs+1), []byte("x"))
	d.eventually("it says that there are too many", func() bool {
		refused := d.input(a).Refused
		return len(refused) == 1 && refused[0].Code == delegation.CodeInputLimit && d.input(a).Acknowledged == 0
	})
	d.touch("cancel_s1")
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
}

// TestAFloodOfInput beside an honest one costs memory for none of them.
func TestAFloodOfInput(t *testing.T) {
	d := newDesk(t, agentProfile)
	l := d.hears()
	close(l.answers)
	a := d.submit(ask{id: "s1", task: "x"})
	d.started(a)
	for n := 2; n <= 10_000; n++ {
		d.must(os.WriteFile(filepath.Join(d.outbox, d.inputName(a, n)), nil, 0o644))
	}
	d.eventually("it says what is missing", func() bool { return d.input(a).Missing == 1 })
	d.say(a, 2, "end")
	d.say(a, 1, "one")
	d.response(a)
	if got := l.heard(); got != "one,end" {
		t.Errorf("the agent heard %q", got)
	}
	if refused := d.input(a).Refused; len(refused) > delegation.MaxRefusedInputs {
		t.Errorf("%d are refused", len(refused))
	}
}

// TestWhatIsSaidBeforehandStays: to a request that is not admitted yet. What was said to an earlier one goes.
func TestWhatIsSaidBeforehandStays(t *testing.T) {
	d := newDesk(t, agentProfile)
	l := d.hears()
	close(l.answers)
	a := d.submit(ask{id: "s1", task: "x"})
	d.started(a)
	d.say(a, 1, "one")
	d.say(a, 2, "end")
	d.response(a)
	d.pause()
	b := ask{id: "s1", request: "r-2", task: "x"}
	d.say(b, 1, "end")
	d.eventually("it is old enough to be taken away", func() bool {
		info, err := os.Stat(filepath.Join(d.outbox, d.inputName(b, 1)))
		return err == nil && time.Since(info.ModTime()) > 1100*time.Millisecond
	})
	d.open()
	d.listed()
	if !d.exists(d.inputName(b, 1)) || !d.exists(d.inputName(a, 1)) {
		t.Error("what was said to a request that may come, or is there, was taken away")
	}
	b = d.submit(b)
	d.eventually("the second run has ended", func() bool { return strings.Count(l.heard(), "end") == 2 })
	d.response(b)
	d.listed()
	d.eventually("what was said to the first is taken away", func() bool { return !d.exists(d.inputName(a, 1)) && d.exists(d.inputName(b, 1)) })
}
