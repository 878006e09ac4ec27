package watcher

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/output"
)

// TestARequestThatIsChangedWhileNobodyLooks has a parent put another workspace under the ids of a run whose watcher is
// dead. The run must not pass for one in the other workspace: a second one would be let into its own.
func TestARequestThatIsChangedWhileNobodyLooks(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	defer release()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.crash()
	changed := a
	changed.workspace = filepath.Join(d.outbox, "workspaces", "elsewhere")
	d.must(os.MkdirAll(changed.workspace, 0o755))
	d.submit(changed)
	d.open()
	resp := d.response(a)
	d.want(resp, delegation.StatusCancelled, delegation.ReasonSuperseded, -1)
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "another workspace") {
		t.Errorf("it is not said why: %q", resp.Warnings)
	}
	d.onceEach()
	d.empty()
}

// TestADoomedRunKeepsItsWorkspace: what is adopted to be ended is still at work, so no other run gets its workspace.
func TestADoomedRunKeepsItsWorkspace(t *testing.T) {
	d := newDesk(t, nil)
	busy, over := make(chan struct{}), make(chan struct{})
	d.world.Register("stubborn", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		p.Trap(sandbox.Interrupt, sandbox.Terminate)
		close(busy)
		<-ctx.Done()
		close(over)
		return 0
	})
	d.world.Register("look", func(context.Context, sandboxtest.ProgramIO) int {
		select {
		case <-over:
			return 0
		default:
			return 9
		}
	})
	a := d.submit(ask{id: "s1", task: "stubborn", workspace: d.relative("shared")})
	<-busy
	d.started(a)
	d.crash()
	d.remove("request_s1.json")
	next := d.submit(ask{id: "s2", task: "look", workspace: filepath.Join(d.outbox, "workspaces", "shared")})
	d.config.Outboxes[0].QueueBusy = true
	d.open()
	d.want(d.response(next), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// relative makes a workspace and names it as a parent may, beneath the outbox.
func (d *desk) relative(name string) string {
	d.must(os.MkdirAll(filepath.Join(d.outbox, "workspaces", name), 0o755))
	return filepath.Join("workspaces", name)
}

// TestASandboxThatWasNotReleasedIsMadeAnew: between its making and its release the watcher died, and its request is another one since.
func TestASandboxThatWasNotReleasedIsMadeAnew(t *testing.T) {
	d := newDesk(t, nil)
	reached, never := make(chan struct{}, 1), make(chan struct{})
	d.world.After(sandboxtest.OpCreate, func() { reached <- struct{}{}; <-never })
	a := d.submit(ask{id: "s1", task: "echo first"})
	<-reached
	d.world.After(sandboxtest.OpCreate, nil)
	d.crash(func() { close(never) })
	changed := a
	changed.task, changed.workspace = "echo second", filepath.Join(d.outbox, "workspaces", "elsewhere")
	d.must(os.MkdirAll(changed.workspace, 0o755))
	d.submit(changed)
	d.open()
	resp := d.response(a)
	if resp.StdoutTail != "second\n" {
		t.Errorf("it ran what the request does not say: %+v", resp)
	}
	if all := d.world.Sandboxes(); len(all) != 2 {
		t.Errorf("its sandboxes are %v", all)
	}
	d.onceEach()
	d.empty()
}

// TestNoAttemptBeginsBehindAClosedDoor: a run that is lost while the watcher waits for it to end is not attempted again.
func TestNoAttemptBeginsBehindAClosedDoor(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		c.Outboxes[0].Policy.Profiles[0].Attempts = 2
		c.Shutdown.Drain, c.Shutdown.Budget = true, time.Hour
	})
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	handle := *d.latest("s1").Handle
	d.watcher.schedule.Close(d.watcher.life)
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	d.world.Vanish(handle)
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Error("the watcher waits for an attempt that nobody asked it for")
		d.watcher.endLife()
		<-stopped
	}
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	if all := d.world.Sandboxes(); len(all) != 1 {
		t.Errorf("it was launched as %v", all)
	}
}

// silentLive is live output that goes nowhere.
func silentLive(seq int) *output.Live {
	return &output.Live{Seq: seq, Publish: func(int, []delegation.Event) error { return nil }, Remove: func(int) {}, Report: func(error) {}}
}

// TestARunThatIsKnownToHaveStarted: its note is gone, and its log has lost the line that init wrote.
func TestARunThatIsKnownToHaveStarted(t *testing.T) {
	o := output.Child{Live: silentLive(0), OnStarted: func(time.Time) { t.Error("it started again") }}
	o.Resume(output.Progress{}, time.Now(), false)
	if !o.Started {
		t.Error("nobody looks at its workspace, and its end is taken for a failed start")
	}
	o.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: []byte("torno-init: "), Gap: true})
	o.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: []byte("hello\nthere\n")})
	if o.Stderr.String() != "torno-init: hello\nthere\n" {
		t.Errorf("its output is %q", o.Stderr.String())
	}
}

// TestANoteOfBeforeTheStart: a run has live segments from its states before init has said a word, and the next watcher goes on from
// the note of one. Wherever init's line was cut, the agent is known to have started, or why it has not, and no byte of the line is the
// child's.
func TestANoteOfBeforeTheStart(t *testing.T) {
	started := runfile.StartedLine(time.Now().Add(-time.Minute))
	refused := []byte("torno-init 1 failed mount another directory\n")
	holding := []byte(runfile.Holding)
	for what, line := range map[string][]byte{"started": started, "refused": refused} {
		all := slices.Concat(holding, line, []byte("of the child\n"))
		for cut := range len(all) + 1 {
			first := output.Child{Live: silentLive(1), OnStarted: func(time.Time) {}}
			first.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: all[:cut], Cursor: "there"})
			text, err := json.Marshal(first.Progress())
			var note output.Progress
			if err = errors.Join(err, json.Unmarshal(text, &note)); err != nil {
				t.Fatal(err)
			}
			next := output.Child{Live: silentLive(0), OnStarted: func(time.Time) {}}
			next.Resume(note, time.Time{}, true)
			next.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: all[cut:]})
			want := map[string]string{"started": "of the child\n", "refused": ""}[what]
			if next.Started != (what == "started") || (next.Failure != nil) != (what == "refused") || next.Stderr.String() != want || next.StartedAt.IsZero() == next.Started {
				t.Fatalf("%s, cut at %d: started %t at %s, failure %v, the child said %q", what, cut, next.Started, next.StartedAt, next.Failure, next.Stderr.String())
			}
		}
	}
}

// TestAStartThatIsToCome is a child's forgery: init never looks ahead.
func TestAStartThatIsToCome(t *testing.T) {
	var at time.Time
	o := output.Child{Live: silentLive(0), OnStarted: func(t time.Time) { at = t }}
	o.Take(sandbox.Chunk{Stream: sandbox.Stderr, Bytes: runfile.StartedLine(time.Now().Add(time.Hour))})
	if at.IsZero() || time.Until(at) > time.Minute {
		t.Errorf("the run's time begins at %s", at)
	}
}

// TestTheOutputOfAnAdoptedRunStaysBehindItsEnd: what an earlier watcher has published of it is no more left over than the rest.
func TestTheOutputOfAnAdoptedRunStaysBehindItsEnd(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.printed("s1", "before\n")
	d.crash()
	d.open()
	release()
	d.response(a)
	d.ended(a)
	for range 2 {
		d.touch("response_none.json")
		d.eventually("there was a listing", func() bool { return !d.exists("response_none.json") })
	}
	if text, gaps := d.live("s1"); text != "before\nafter\n" || gaps != 0 {
		t.Errorf("the live output is %q with %d gaps", text, gaps)
	}
}

// TestALostRunWhoseRequestIsMadeOld: the record of a run of that age may be gone, so it is not attempted again; and
// no parent keeps the watcher from starting by that.
func TestALostRunWhoseRequestIsMadeOld(t *testing.T) {
	for name, restart := range map[string]bool{"while a watcher is there": false, "while none is": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
			d.response(d.submit(ask{id: "s2", task: "echo"}))
			d.ended(ask{id: "s2", request: "r-s2"})
			d.remove("request_s2.json")
			d.pruneNow()
			_, err := d.journal.DropKeys(t.Context(), d.box("main"), time.Now().Add(time.Hour), 10)
			d.must(err)
			a := d.submit(ask{id: "s1", task: "sleep"})
			d.started(a)
			handle := *d.latest("s1").Handle
			if restart {
				d.crash()
			}
			then := time.Now().Add(-time.Hour)
			d.must(os.Chtimes(filepath.Join(d.outbox, "request_s1.json"), then, then))
			if !restart {
				d.filed(a)
			}
			d.world.Vanish(handle)
			if restart {
				d.open()
			}
			d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
		})
	}
}
