package watcher

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/watcher/outbox"
)

// told has the desk's watcher write into a notebook.
func told(said *notebook) func(*Config) {
	return func(c *Config) { c.Log = slog.New(slog.NewTextHandler(said, nil)) }
}

// pause stops the watcher and leaves what runs to the next one.
func (d *desk) pause() {
	d.Helper()
	d.watcher.Keep()
	d.stop()
}

// lead has an outbox's name lead to a directory, for the next start.
func (d *desk) lead(name, dir string) {
	d.Helper()
	d.config.Outboxes = []outbox.Settings{d.settings(name, dir)}
}

// answered leaves a request and its answer in the outbox, and one run that goes on.
func (d *desk) answered() (before, running ask) {
	d.Helper()
	before = d.submit(ask{id: "before", task: "echo before"})
	d.response(before)
	running = d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	return before, running
}

// goesOn wants the run to be adopted and answered, and nothing else to run.
func (d *desk) goesOn(release func(), running ask) {
	d.Helper()
	release()
	resp := d.response(running)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "before\nafter\n" {
		d.Errorf("the run printed %q", resp.StdoutTail)
	}
	if ran := d.world.Released(); len(ran) != 2 {
		d.Errorf("two requests, and %d agents ran", len(ran))
	}
	d.onceEach()
}

// TestARenamedOutboxGoesOn: a name is for people. The directory tells that it is the same outbox.
func TestARenamedOutboxGoesOn(t *testing.T) {
	said := &notebook{}
	d := newDesk(t, told(said))
	release := d.gate()
	_, running := d.answered()
	d.pause()
	d.lead("renamed", d.outbox)
	d.open()
	d.goesOn(release, running)
	d.want(d.response(d.submit(ask{id: "after", task: "echo after"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	run, err := d.operator().Run(t.Context(), "renamed/before")
	if err != nil || run.Outbox != "renamed" || len(run.OutboxID) != 16 {
		t.Errorf("an operator sees %+v, %v", run, err)
	}
	if n := said.count("has another name"); n != 1 {
		t.Errorf("the new name is said %d times", n)
	}
}

// TestTwoOutboxesExchangeTheirNames: each goes on as what it is.
func TestTwoOutboxesExchangeTheirNames(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	_, running := d.answered()
	other := d.newOutbox("other")
	for _, names := range [][2]string{{"main", "other"}, {"other", "main"}, {"main", "third"}} {
		d.pause()
		d.config.Outboxes = []outbox.Settings{d.settings(names[0], d.outbox), d.settings(names[1], other)}
		d.open()
	}
	d.goesOn(release, running)
}

// wrongDirectories are what a name may lead to when the outbox's own directory is not there.
var wrongDirectories = map[string]func(d *desk, dir string){
	"an empty mount point": func(*desk, string) {},
	"another disk with requests": func(d *desk, dir string) {
		d.submit(ask{id: "bait", task: "echo bait", outbox: dir})
	},
	"a copy of the outbox": func(d *desk, dir string) {
		d.must(os.CopyFS(filepath.Join(dir), os.DirFS(d.outbox)))
	},
}

// TestANameThatLeadsElsewhere: nothing of the outbox is run again, lost or ended, nothing of the other directory is touched, and
// the other outboxes are served. With the right directory everything goes on. The oracle is a journal that knows the name alone.
func TestANameThatLeadsElsewhere(t *testing.T) {
	trial := attack.Trial{Row: "O38", Where: "fake"}
	for what, fill := range wrongDirectories {
		trial.Tried++
		if t.Run(what, func(t *testing.T) { awayAndBack(t, fill) }) {
			trial.Held++
		}
	}
	t.Run("without identities", func(t *testing.T) {
		d := newLoneDesk(t, nil)
		d.gate()
		d.answered()
		was := d.latest("running").Key
		d.pause()
		d.sql(`DELETE FROM outboxes`)
		d.lead("main", d.newOutbox("elsewhere"))
		d.open()
		r, err := d.journal.Get(t.Context(), was)
		d.must(err)
		trial.Oracle = r.State == delegation.StateEnded
	})
	attack.Record(t, trial)
}

func awayAndBack(t *testing.T, fill func(d *desk, dir string)) {
	said := &notebook{}
	d := newLoneDesk(t, told(said))
	release := d.gate()
	_, running := d.answered()
	d.pause()
	elsewhere, second := d.newOutbox("elsewhere"), d.newOutbox("second")
	fill(d, elsewhere)
	before := d.names(elsewhere)
	d.lead("main", elsewhere)
	d.config.Outboxes = append(d.config.Outboxes, d.settings("second", second))
	d.open()
	d.want(d.response(d.submit(ask{id: "other", task: "echo other", outbox: second})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if after := d.names(elsewhere); !slices.Equal(after, before) {
		t.Errorf("the other directory held %v, and holds %v", before, after)
	}
	if r := d.latest("running"); r.State != delegation.StateRunning || r.Answered {
		t.Errorf("its run is %s, %s", r.State, r.Reason)
	}
	status, err := d.operator().Status(t.Context())
	d.must(err)
	if !strings.Contains(status.Outboxes[0].Trouble, "watcher outbox accept main --same") || status.Outboxes[1].Trouble != "" {
		t.Errorf("the status is %+v", status.Outboxes)
	}
	if n := said.count("is not served"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, &said.text)
	}
	d.pause()
	d.lead("main", d.outbox)
	d.open()
	release()
	d.want(d.response(running), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if ran := d.world.Released(); len(ran) != 3 {
		t.Errorf("three requests, and %d agents ran", len(ran))
	}
	d.onceEach()
}

// sql changes the journal after a watcher that is stopped.
func (d *desk) sql(statements ...string) {
	d.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.state, "journal.db"))
	d.must(err)
	defer db.Close()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		d.must(err)
	}
}

// TestTheWatcherSeesTheDirectoryComeBack while it runs, and asks for all outboxes to be opened anew.
func TestTheWatcherSeesTheDirectoryComeBack(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	_, running := d.answered()
	d.pause()
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".real"), os.Mkdir(d.outbox, 0o755)))
	d.lead("main", d.outbox)
	d.open()
	select {
	case <-d.watcher.Reopen():
		t.Error("it asks for that although nothing has changed")
	default:
	}
	d.must(errors.Join(os.Remove(d.outbox), os.Rename(d.outbox+".real", d.outbox)))
	<-d.watcher.Reopen()
	d.pause()
	d.lead("main", d.outbox)
	d.open()
	d.goesOn(release, running)
}

// TestADirectoryLeavesWhileItIsLookedAt: a watcher has opened another directory than the outbox's, and the right one comes back before
// the watcher knows which outbox that is. It ends for that no more than it takes the directory that has left for the outbox.
func TestADirectoryLeavesWhileItIsLookedAt(t *testing.T) {
	for name, leave := range map[string]func(dir string) error{
		"removed": os.Remove,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".other") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.response(d.submit(ask{id: "before", task: "echo before"}))
			d.stop()
			d.must(errors.Join(os.Rename(d.outbox, d.outbox+".real"), os.Mkdir(d.outbox, 0o755)))
			d.lead("main", d.outbox)
			d.must(errors.Join(leave(d.outbox), os.Rename(d.outbox+".real", d.outbox)))
			d.open()
			d.reopens()
			d.pause()
			d.lead("main", d.outbox)
			d.open()
			d.want(d.response(d.submit(ask{id: "after", task: "echo after"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
			if ran := d.world.Released(); len(ran) != 2 {
				d.Errorf("two requests, and %d agents ran", len(ran))
			}
		})
	}
}

// TestTheWorkspaceOfARunThatIsLeftAsideIsTaken, for all outboxes that are served meanwhile.
func TestTheWorkspaceOfARunThatIsLeftAsideIsTaken(t *testing.T) {
	d := newDesk(t, nil)
	d.gate()
	_, running := d.answered()
	d.pause()
	second := d.newOutbox("second")
	d.lead("main", d.newOutbox("elsewhere"))
	other := d.settings("second", second)
	other.Policy.Allow = append(other.Policy.Allow, d.settings("main", d.outbox).Policy.Allow...)
	d.config.Outboxes = append(d.config.Outboxes, other)
	d.open()
	resp := d.response(d.submit(ask{id: "s1", task: "echo", outbox: second, workspace: running.workspace}))
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("the workspace is given away: %+v", resp)
	}
	d.pause()
}

// TestTwoDisksAreExchanged: the name leads to the directory of an outbox that was served long ago, and its own is not there. What
// runs in either is left alone.
func TestTwoDisksAreExchanged(t *testing.T) {
	d := newDesk(t, nil)
	first := d.outbox
	d.response(d.submit(ask{id: "long-ago", task: "echo"}))
	d.stop()
	d.outbox = d.newOutbox("second")
	d.config.Outboxes = []outbox.Settings{d.settings("other", first), d.settings("main", d.outbox)}
	d.open()
	d.stop()
	d.lead("main", d.outbox)
	d.open()
	release := d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	d.pause()
	d.lead("main", first)
	d.open()
	if r := d.latest("running"); r.State != delegation.StateRunning {
		t.Errorf("the run is %s, %s", r.State, r.Reason)
	}
	d.pause()
	d.lead("main", d.outbox)
	d.open()
	release()
	d.want(d.response(running), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestANewJournal: what lies in an outbox that was served may have run. Nothing of it runs again.
func TestANewJournal(t *testing.T) {
	said := &notebook{}
	d := newDesk(t, told(said))
	before := d.submit(ask{id: "before", task: "echo before"})
	d.response(before)
	d.stop()
	d.remove("response_before.json") // its client has not read it, or the disk has lost it
	d.must(os.RemoveAll(d.state))
	d.config.Notes = d.notes()
	d.open()
	resp := d.response(before)
	if resp.Error == nil || resp.Error.Code != "journal_lost" {
		t.Errorf("what may have run is answered %+v", resp)
	}
	d.eventually("the outbox is looked through", func() bool { return said.count("was looked through") == 1 })
	d.want(d.response(d.submit(ask{id: "before", request: "anew", task: "echo anew"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if ran := d.world.Released(); len(ran) != 2 {
		t.Errorf("%d agents ran", len(ran))
	}
}

// TestAnOutboxThatWasNeverServed: what lies there runs.
func TestAnOutboxThatWasNeverServed(t *testing.T) {
	d := newDesk(t, func(c *Config) {})
	d.stop()
	d.remove(delegation.HeartbeatName)
	d.must(os.RemoveAll(d.state))
	a := d.submit(ask{id: "s1", task: "echo first"})
	d.config.Notes = d.notes()
	d.open()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestNothingIsAtStake: where a person runs the watcher by hand, nothing is unfinished and no request lies there, another directory takes the place.
func TestNothingIsAtStake(t *testing.T) {
	said := &notebook{}
	d := newDesk(t, told(said))
	d.response(d.submit(ask{id: "before", task: "echo before"}))
	d.stop()
	elsewhere := d.newOutbox("elsewhere")
	d.lead("main", elsewhere)
	d.config.Outboxes[0].Remade = true
	d.open()
	if n := said.count("another directory"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, &said.text)
	}
	d.want(d.response(d.submit(ask{id: "s1", task: "echo", outbox: elsewhere})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAForgedHeartbeat: a parent can write any, and gains nothing by it. Its own requests are refused, or its own outbox waits for
// the operator; the outbox that it names goes on.
func TestAForgedHeartbeat(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	_, running := d.answered()
	first, forged := d.box("main"), d.text(delegation.HeartbeatName)
	d.pause()
	evil := d.newOutbox("evil")
	d.must(os.WriteFile(filepath.Join(evil, delegation.HeartbeatName), []byte(forged), 0o644))
	a := d.submit(ask{id: "evil", task: "echo evil", outbox: evil})
	d.lead("main", d.outbox)
	d.config.Outboxes = append(d.config.Outboxes, d.settings("evil", evil))
	d.open()
	if resp := d.response(a); resp.Error == nil || resp.Error.Code != delegation.CodeJournalLost {
		t.Errorf("its request is answered %+v", resp)
	}
	if d.box("main") != first || d.box("evil") == first {
		t.Error("it is taken for the outbox that it names")
	}
	d.goesOn(release, running)
}

// TestWhateverHasTheHeartbeatsName tells that the outbox was served, and is not opened where it is no file.
func TestWhateverHasTheHeartbeatsName(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"nothing in it": func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"nonsense":      func(path string) error { return os.WriteFile(path, []byte("hello"), 0o644) },
		"a link":        func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a directory":   func(path string) error { return os.Mkdir(path, 0o755) },
		"of before": func(path string) error {
			return os.WriteFile(path, []byte(`{"version":1,"protocol":1,"outbox":"main","beat_at":"2026-01-01T00:00:00Z","heartbeat_seconds":5}`), 0o644)
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, func(c *Config) {
				dir := c.Outboxes[0].Policy.Dir
				if err := put(filepath.Join(dir, delegation.HeartbeatName)); err != nil {
					t.Fatal(err)
				}
				body := `{"version":1,"subagent_id":"s1","request_id":"r","task":"echo","workspace":"workspaces","timeout_seconds":9}`
				if err := os.WriteFile(filepath.Join(dir, "request_s1.json"), []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
			})
			if resp := d.response(ask{id: "s1", request: "r"}); resp.Error == nil || resp.Error.Code != delegation.CodeJournalLost {
				t.Errorf("it is answered %+v", resp)
			}
		})
	}
}

// TestAnOutboxThatIsAwayMissesNothing: that a request is gone from a directory that is not at its path ends no run. It does when the
// directory is back.
func TestAnOutboxThatIsAwayMissesNothing(t *testing.T) {
	said := &notebook{}
	d := newDesk(t, told(said))
	d.gate()
	_, running := d.answered()
	r := d.watcher.runs.Running(d.latest("running").Key)
	d.must(os.Rename(d.outbox, d.outbox+".real"))
	d.must(os.Remove(filepath.Join(d.outbox+".real", "request_running.json")))
	if reason := r.Client().Check(); reason != "" {
		t.Errorf("it would be ended as %s", reason)
	}
	d.eventually("the absence is noticed", func() bool { return said.count("is not served until") == 1 })
	if reason := r.Cause(); reason != "" {
		t.Errorf("it is being ended as %s", reason)
	}
	d.must(os.Rename(d.outbox+".real", d.outbox))
	if r := d.ended(running); r.Reason != delegation.ReasonClientGone {
		t.Errorf("it ended as %s", r.Reason)
	}
}
