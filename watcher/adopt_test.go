package watcher

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/watcher/output"
)

// gate makes a gated program known as "gated".
func (d *desk) gate() (release func()) {
	open := make(chan struct{})
	release = sync.OnceFunc(func() { close(open) })
	d.world.Register("gated", gated(open))
	d.Cleanup(release)
	return release
}

// gated is a program that prints a line, waits until it is let on, prints another one, and ends.
func gated(open <-chan struct{}) sandboxtest.Program {
	return func(ctx context.Context, p sandboxtest.ProgramIO) int {
		io.WriteString(p.Stdout, "before\n")
		select {
		case <-open:
			io.WriteString(p.Stdout, "after\n")
			return 0
		case <-ctx.Done():
			return 1
		}
	}
}

// onceEach wants every agent that ran to be that of a run, and of no other one's. A run that ran twice has two sandboxes, of
// which the journal knows one.
func (d *desk) onceEach() {
	d.Helper()
	runs, err := d.journal.List(t0(), journal.Query{})
	d.must(err)
	bound := map[sandbox.SandboxID]int{}
	for _, r := range runs {
		if !r.Released.IsZero() {
			bound[r.Sandbox]++
		}
	}
	for _, id := range d.world.Released() {
		if bound[id] != 1 {
			d.Errorf("sandbox %s ran, and the journal has it for %d runs", id, bound[id])
		}
	}
}

// text is the content of a file in the outbox.
func (d *desk) text(name string) string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.outbox, name))
	d.must(err)
	return string(data)
}

// live is the text of a run's live output, and how many gaps it has.
func (d *desk) live(id string) (text string, gaps int) {
	d.Helper()
	files, err := filepath.Glob(filepath.Join(d.outbox, "events_"+id+".*.jsonl"))
	d.must(err)
	for _, file := range files { // at most nine of them: by name is by number
		data, err := os.ReadFile(file)
		d.must(err)
		for line := range strings.Lines(string(data)) {
			var e delegation.Event
			d.must(json.Unmarshal([]byte(line), &e))
			if e.Type == delegation.EventGap {
				gaps++
			}
			text += e.Text
		}
	}
	return text, gaps
}

// printed waits until a run's live output shows a text.
func (d *desk) printed(id, want string) {
	d.Helper()
	d.eventually("the live output shows "+want, func() bool { text, _ := d.live(id); return strings.Contains(text, want) })
}

func TestAnAdoptedRunGoesOnWhereItWas(t *testing.T) {
	for name, c := range map[string]struct {
		forget bool // the note of how far its output was taken
		gaps   int
	}{
		"with its note": {}, "without": {forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			d.started(a)
			d.printed("s1", "before\n")
			d.crash()
			if c.forget {
				output.NewNotes(d.config.Notes).Sweep(func(string) bool { return false })
			}
			d.open()
			release()
			resp := d.response(a)
			d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			if resp.StdoutTail != "before\nafter\n" || resp.Attempt != 1 {
				t.Errorf("the response: %+v", resp)
			}
			if text, gaps := d.live("s1"); text != "before\nafter\n" || gaps != c.gaps {
				t.Errorf("the live output is %q with %d gaps", text, gaps)
			}
			d.onceEach()
			d.empty()
		})
	}
}

// TestASegmentThatWasNotPublished was noted by a watcher that died then: the next one publishes it, out of the note.
func TestASegmentThatWasNotPublished(t *testing.T) {
	for name, c := range map[string]struct {
		older bool // the note is an earlier version's, which had no events
		want  string
		gaps  int
	}{
		"noted": {want: "before\nafter\n"}, "noted by an earlier version": {older: true, want: "after\n", gaps: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			d.started(a)
			d.printed("s1", "before\n")
			key := d.runOf(a)
			d.crash()
			files, err := filepath.Glob(filepath.Join(d.outbox, "events_*.jsonl"))
			d.must(err)
			d.must(os.Remove(files[len(files)-1])) // as if the crash had come between the note and the file
			if c.older {
				notes := output.NewNotes(d.config.Notes)
				noted := notes.Load(key)
				noted.Events = nil
				notes.Save(key, noted)
			}
			d.open()
			release()
			d.response(a)
			if text, gaps := d.live("s1"); gaps != c.gaps || !strings.HasSuffix(text, c.want) {
				t.Errorf("the live output is %q with %d gaps", text, gaps)
			}
		})
	}
}

func TestAnAdoptedRunCanBeCancelled(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.crash()
	d.touch("cancel_s1") // while no watcher is there to see it
	d.open()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.onceEach()
	d.empty()
}

func TestTheDeadlineOfAnAdoptedRunGoesOn(t *testing.T) {
	d := newDesk(t, nil)
	const allowed = time.Hour // should the time begin anew, there is no answer as long as the test waits
	a := d.submit(ask{id: "s1", task: "sleep", timeout: int(allowed / time.Second)})
	d.started(a)
	d.crash()
	d.age(allowed) // the deadline passes while no watcher is there
	d.open()
	d.want(d.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
}

func TestARequestThatIsGoneOrReplacedMeanwhile(t *testing.T) {
	for name, replaced := range map[string]bool{"gone": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			a := d.submit(ask{id: "s1", task: "sleep"})
			d.started(a)
			d.crash()
			d.remove("request_s1.json")
			if replaced {
				next := d.submit(ask{id: "s1", request: "another", task: "echo next"})
				d.open()
				d.want(d.response(next), delegation.StatusCompleted, delegation.ReasonExited, 0)
			} else {
				d.open()
			}
			d.eventually("the sandbox is gone", func() bool { handles, err := d.fake.List(t0()); d.must(err); return len(handles) == 0 })
			if d.exists("response_s1.json") != replaced {
				t.Error("somebody was answered who had left, or the other way round")
			}
			d.onceEach()
		})
	}
}

func TestAPolicyThatForbidsAnAdoptedRunEndsIt(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.crash()
	d.config.Outboxes[0].Policy.Allow = []compile.Root{compile.Root(filepath.Join(d.outbox, "elsewhere"))}
	d.must(os.MkdirAll(filepath.Join(d.outbox, "elsewhere"), 0o755))
	d.open()
	resp := d.response(a)
	d.want(resp, delegation.StatusCancelled, delegation.ReasonOperator, -1)
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "allow") {
		t.Errorf("it is not said why: %q", resp.Warnings)
	}
	d.empty()
}

// TestALowerLimitForRequestsEndsNoRun: the watcher lets a run go on whose request is longer than a new limit, and answers it at its end.
func TestALowerLimitForRequestsEndsNoRun(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.crash()
	d.config.Outboxes[0].MaxRequestBytes = 10
	d.open()
	big := d.submit(ask{id: "s2", task: "echo"})
	big.request = ""
	d.want(d.response(big), delegation.StatusError, delegation.ReasonRefused, -1)
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

// TestALowerLimitForRequestsEndsNoQueuedRun: it was admitted, and its turn comes, also where nothing may wait any more.
func TestALowerLimitForRequestsEndsNoQueuedRun(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	release := d.gate()
	first := d.submit(ask{id: "s1", task: "gated"})
	d.started(first)
	second := d.submit(ask{id: "s2", task: "echo"})
	d.eventually("it is queued", func() bool { return d.exists("status_s2.json") })
	d.crash()
	d.config.Outboxes[0].MaxRequestBytes, d.config.Outboxes[0].Queue = 10, 0
	d.open()
	release()
	d.want(d.response(first), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.want(d.response(second), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

// TestACrashBetweenTheStepsOfALaunch holds the watcher at each step of the fake, kills it there, and wants one agent and one
// answer. What was not released is made anew. Between the journal's note of the release and the word to init it cannot be told
// whether the agent ran: that is lost.
func TestACrashBetweenTheStepsOfALaunch(t *testing.T) {
	for name, at := range map[string]struct {
		op    sandboxtest.Op
		after bool
		made  int // sandboxes
		lost  bool
	}{
		"before create": {op: sandboxtest.OpCreate, made: 1}, "after create": {op: sandboxtest.OpCreate, after: true, made: 2},
		"before start": {op: sandboxtest.OpStart, made: 2}, "after start": {op: sandboxtest.OpStart, after: true, made: 2},
		"before open": {op: sandboxtest.OpOpen, made: 2}, "after open": {op: sandboxtest.OpOpen, after: true, made: 2},
		"before attest": {op: sandboxtest.OpAttest, made: 2}, "after attest": {op: sandboxtest.OpAttest, after: true, made: 2},
		"before the word": {op: sandboxtest.OpRelease, made: 1, lost: true}, "after the word": {op: sandboxtest.OpRelease, after: true, made: 1},
		"before init goes on": {op: sandboxtest.OpInit, made: 1}, "after wait": {op: sandboxtest.OpWait, after: true, made: 1},
		"before remove": {op: sandboxtest.OpRemove, made: 1}, "after remove": {op: sandboxtest.OpRemove, after: true, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			reached, never := make(chan struct{}), make(chan struct{})
			hook := d.world.Before
			if at.after {
				hook = d.world.After
			}
			var once sync.Once
			hook(at.op, func() { once.Do(func() { close(reached) }); <-never })
			a := d.submit(ask{id: "s1", task: "echo hello"})
			<-reached
			hook(at.op, nil)
			d.crash(func() { close(never) })
			d.open()
			resp := d.response(a)
			if at.lost {
				d.want(resp, delegation.StatusError, delegation.ReasonLost, -1)
			} else {
				d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			}
			if !at.lost && resp.StdoutTail != "hello\n" {
				t.Errorf("the output is %q", resp.StdoutTail)
			}
			if all := d.world.Sandboxes(); len(all) != at.made {
				t.Errorf("%d sandboxes were made, want %d", len(all), at.made)
			}
			d.onceEach()
			d.empty()
		})
	}
}

func TestAWatcherThatKeepsItsRunsLeavesThemToTheNext(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Shutdown.Keep = 1, true })
	release := d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	d.printed("running", "before\n")
	queued := d.submit(ask{id: "queued", task: "echo later"})
	d.eventually("the second waits", func() bool { return d.exists("status_queued.json") })
	d.stop()
	if d.exists("response_running.json") || d.exists("response_queued.json") {
		t.Error("a run that was to be kept was answered")
	}
	meanwhile := d.submit(ask{id: "meanwhile", task: "echo too"})
	d.open()
	release()
	resp := d.response(running)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if text, gaps := d.live("running"); text != "before\nafter\n" || gaps != 0 {
		t.Errorf("the live output is %q with %d gaps", text, gaps)
	}
	for _, a := range []ask{queued, meanwhile} {
		d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	d.onceEach()
	d.empty()
}

func TestALostRunIsAttemptedAgain(t *testing.T) {
	for name, restart := range map[string]bool{"while a watcher is there": false, "while none is": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated", timeout: 7200}) // of which it is told that it is too long
			d.started(a)
			handle := *d.latest("s1").Handle
			if restart {
				d.crash()
			}
			d.world.Vanish(handle)
			if restart {
				d.open()
			}
			d.eventually("the second attempt runs", func() bool {
				r := d.latest("s1")
				return r.Attempt == 2 && r.State == delegation.StateRunning
			})
			d.drop(d.outbox, "request_s1.json", []byte(d.text("request_s1.json"))) // the same request in another file
			release()
			resp := d.response(a)
			d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			if resp.Attempt != 2 || len(resp.Warnings) != 2 || !strings.Contains(resp.Warnings[1], "Attempt 1 was lost") {
				t.Errorf("the attempts are not counted: %+v", resp)
			}
			d.onceEach()
			if n := len(d.world.Sandboxes()); n != 2 {
				t.Errorf("%d sandboxes, want 2", n)
			}
			d.empty()
		})
	}
}

// TestTheNextAttemptOwesTheResponse: the file of a lost run was read when its stamp was old, and the next watcher's first reading,
// for the next attempt, is too young to tell. The end of the lost attempt is not taken for the end of the request.
func TestTheNextAttemptOwesTheResponse(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	record := d.latest("s1")
	read := record.Reading()
	read.Firm = true
	d.must(d.journal.Refile(t0(), record.Key, read, false))
	d.crash()
	d.world.Vanish(*record.Handle)
	d.open()
	release()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attempt != 2 {
		t.Errorf("the response is of attempt %d", resp.Attempt)
	}
	d.onceEach()
	d.empty()
}

func TestTheLastAttemptIsTheLast(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	for attempt := 1; attempt <= 2; attempt++ {
		d.eventually("it runs", func() bool {
			r := d.latest("s1")
			return r.Attempt == attempt && r.State == delegation.StateRunning
		})
		d.world.Vanish(*d.latest("s1").Handle)
	}
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonLost, -1)
	if resp.Attempt != 2 {
		t.Errorf("the response is of attempt %d", resp.Attempt)
	}
}

// TestAnEndThatIsNotWrittenDownKeepsItsSandbox has a watcher stop while the journal does not take the end of a run. Only the
// sandbox knows that end then, so it stays for the next watcher.
func TestAnEndThatIsNotWrittenDownKeepsItsSandbox(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.tamper(`CREATE TRIGGER full BEFORE UPDATE ON runs WHEN NEW.state = 'ended' BEGIN SELECT RAISE(FAIL, 'full'); END`)
	d.open()
	a := d.submit(ask{id: "s1", task: "echo hello"})
	d.eventually("clients are told of the journal", func() bool {
		return strings.Contains(d.text(delegation.HeartbeatName), string(delegation.NoticeJournal))
	})
	d.watcher.Keep()
	d.stop()
	d.tamper(`DROP TRIGGER full`)
	d.open()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "hello\n" {
		t.Errorf("the tail is %q", resp.StdoutTail)
	}
	d.onceEach()
	d.empty()
}
