package watcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"torno/delegation"
	"torno/internal/boot"
	"torno/internal/events"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/test/house"
	"torno/test/wait"
	"torno/watcher/outbox"
	"torno/watcher/run"
)

// TestMain has more tests run at once than there are processors: they wait more than they work.
func TestMain(m *testing.M) {
	house.AtOnce("6")
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of these tests; none of them needs it.
const patience = house.Patience

// unhurried is the time of a run, in seconds, that no story needs.
const unhurried = int(2 * patience / time.Second)

// desk is a parent at one or more outboxes, a watcher behind them, and a fake site behind that.
type desk struct {
	testing.TB
	state, outbox string
	world         *sandboxtest.World
	config        Config
	journal       *journal.Journal
	watcher       *Watcher
	fake          *sandboxtest.Fake
	stop, kill    func()
	result        error                                   // what the watcher ended with when it was killed
	wrap          func(sandbox.Launcher) sandbox.Launcher // what the watcher is given in the fake's place, or nil
	other         *sandboxtest.World                      // behind a second launcher, called "other", or nil
	clock         clock
}

// beside are the tests that go on beside others already.
var beside sync.Map

// newDesk lays out an outbox; change may alter the configuration before open starts the watcher. The test goes on beside
// others.
func newDesk(t testing.TB, change func(*Config)) *desk {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		if _, already := beside.LoadOrStore(test, true); !already {
			test.Parallel()
		}
	}
	return newLoneDesk(t, change)
}

// newLoneDesk is for a test that goes on alone: it measures something of the process, or its parent judges all of its
// subtests.
func newLoneDesk(t testing.TB, change func(*Config)) *desk {
	t.Helper()
	d := &desk{TB: t, state: filepath.Join(t.TempDir(), "state"), world: sandboxtest.NewWorld(t)}
	d.outbox = d.newOutbox("main")
	d.config = Config{
		Outboxes: []outbox.Settings{d.settings("main", d.outbox)}, MaxRunning: 4, Version: "test", Notes: d.notes(),
		Shutdown: Shutdown{Budget: patience}, Log: slog.New(slog.DiscardHandler), Workspaces: heldByName,
		Clock:  boot.Clock{Now: d.clock.now, Glance: 10 * time.Millisecond},
		Timing: run.Timing{Interrupt: 20 * time.Millisecond, Terminate: 20 * time.Millisecond}, // the order of the signals is what counts
	}
	if testing.Verbose() {
		d.config.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if change != nil {
		change(&d.config)
	}
	d.open()
	return d
}

// notes is where running children's progress is kept.
func (d *desk) notes() *os.Root {
	dir := filepath.Join(d.state, "runs")
	d.must(os.MkdirAll(dir, 0o700))
	root, err := os.OpenRoot(dir)
	d.must(err)
	d.Cleanup(func() { root.Close() })
	return root
}

func (d *desk) newOutbox(name string) string {
	dir := filepath.Join(d.TempDir(), name)
	d.must(os.MkdirAll(filepath.Join(dir, "workspaces"), 0o755))
	return dir
}

func (d *desk) settings(name, dir string) outbox.Settings {
	held, err := delegation.OpenDir(dir)
	d.must(err)
	d.Cleanup(func() { held.Close() })
	return outbox.Settings{
		Dir: held,
		Policy: compile.Policy{
			Outbox: name, Dir: dir, Allow: []compile.Root{compile.Root(filepath.Join(dir, "workspaces"))},
			Profiles: []compile.Profile{{
				Name: "sh", Sandbox: sandboxtest.LauncherName, RootFS: sandbox.RootFS{Host: true},
				Timeout: compile.Timeouts{Default: 2 * patience, Min: time.Second, Max: time.Hour},
			}},
		},
		MaxRunning: 4, Queue: 16, MaxRequestBytes: 1 << 20, Tree: outbox.Tree{Children: 2, Depth: 3},
	}
}

// open starts a watcher on what is there, as after a restart.
func (d *desk) open() {
	d.Helper()
	ctx := context.Background()
	var err error
	d.journal, err = journal.Open(ctx, filepath.Join(d.state, "journal.db"))
	d.must(err)
	d.fake = d.world.Launcher(d.journal.Installation())
	d.config.Journal = d.journal
	if d.config.Now != nil {
		d.journal.GoBy(d.config.Now)
	}
	kept, err := events.Open(d.state, events.Usual, time.Now, d.config.Log)
	d.must(err)
	d.Cleanup(func() { kept.Close() })
	d.config.Events = kept
	d.config.Launchers = map[string]sandbox.Launcher{sandboxtest.LauncherName: d.fake}
	if d.wrap != nil {
		d.config.Launchers[sandboxtest.LauncherName] = d.wrap(d.fake)
	}
	if d.other != nil {
		d.config.Launchers["other"] = d.other.Launcher(d.journal.Installation())
	}
	d.watcher = New(d.config)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.watcher.Run(ctx) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			d.Error("the watcher ended with", err)
		}
		d.must(d.journal.Close())
	})
	d.kill = func() {
		cancel()
		d.result = <-done
	}
	d.Cleanup(func() { d.stop() })
	select {
	case <-d.watcher.Ready():
	case err := <-done:
		done <- nil // it has ended, and who stops it must not wait
		d.Fatal("the watcher did not get ready:", err)
	case <-time.After(patience):
		d.Fatal("the watcher did not get ready")
	}
}

// crash ends the watcher as `kill -9` does, as far as anybody outside can see: nothing more is journalled, launched or
// written. What it leaves is what a next one finds. release lets go of what a test holds the dead watcher at.
func (d *desk) crash(release ...func()) {
	d.Helper()
	d.must(d.journal.Close())
	d.fake.Crash()
	d.watcher.endLife()
	for _, let := range release {
		let()
	}
	d.kill()
	d.stop = func() {}
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// ask is one request.
type ask struct {
	id, request, task, workspace string
	timeout                      int
	outbox                       string
	parent                       string
	profile, session             string
	context                      string // a directory that it reads
	made                         bool   // its client made its workspace
}

// submit writes a request as the real client does: aside, then renamed.
func (d *desk) submit(a ask) ask {
	d.Helper()
	if a.outbox == "" {
		a.outbox = d.outbox
	}
	if a.request == "" {
		a.request = "r-" + a.id
	}
	if a.timeout == 0 {
		a.timeout = unhurried
	}
	if a.workspace == "" {
		a.workspace = filepath.Join(a.outbox, "workspaces", a.id)
		d.must(os.MkdirAll(a.workspace, 0o755))
	}
	d.drop(a.outbox, "request_"+a.id+".json", d.body(a))
	return a
}

// body is what a request's file holds.
func (d *desk) body(a ask) []byte {
	d.Helper()
	fields := map[string]any{
		"profile": a.profile, "session_id": a.session, "version": 1, "subagent_id": a.id, "request_id": a.request, "task": a.task, "yaml_config": map[string]any{},
		"answer_file": filepath.Join(a.workspace, "answer.txt"), "workspace": a.workspace, "timeout_seconds": a.timeout,
	}
	if a.parent != "" {
		fields["parent_id"] = a.parent
	}
	if a.made {
		fields["workspace_made"] = true
	}
	if a.context != "" {
		fields["context_paths"] = []string{a.context}
	}
	body, err := json.Marshal(fields)
	d.must(err)
	return body
}

// drop makes a file appear by rename.
func (d *desk) drop(dir, name string, body []byte) {
	d.Helper()
	temp := filepath.Join(dir, name+".tmp")
	d.must(os.WriteFile(temp, body, 0o644))
	d.must(os.Rename(temp, filepath.Join(dir, name)))
}

// eventually polls a condition until it holds.
func (d *desk) eventually(what string, holds func() bool) {
	d.Helper()
	came := false
	defer func() {
		if !came {
			d.Logf("the outbox holds %v", d.names(d.outbox))
		}
	}()
	wait.Until(d, what, holds)
	came = true
}

// returns fails the test where a call does not come back; let has it come back then. It is for calls that must not wait
// for others which hang, or for a budget of an hour, which is longer than any wait.
func (d *desk) returns(what string, call, let func()) {
	d.Helper()
	back := make(chan struct{})
	go func() { defer close(back); call() }()
	select {
	case <-back:
	case <-time.After(patience):
		d.Errorf("%s does not come to an end", what)
		let()
		<-back
	}
}

func (d *desk) names(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	d.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (d *desk) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(d.outbox, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// box is the id of the outbox that people call by a name.
func (d *desk) box(name string) string {
	d.Helper()
	return d.boxIn(d.journal, name)
}

func (d *desk) boxIn(j *journal.Journal, name string) string {
	d.Helper()
	known, err := j.Outboxes(context.Background())
	d.must(err)
	for _, o := range known {
		if o.Named && o.Name == name {
			return o.ID
		}
	}
	d.Fatal("the journal knows no outbox called", name)
	return ""
}

// response waits for the answer to a request.
func (d *desk) response(a ask) (resp delegation.Response) {
	d.Helper()
	path := filepath.Join(cmpOr(a.outbox, d.outbox), "response_"+a.id+".json")
	d.eventually("there is a response to "+a.id+" "+a.request, func() bool {
		data, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		resp = delegation.Response{}
		d.must(json.Unmarshal(data, &resp))
		return a.request == "" || resp.RequestID == a.request
	})
	return resp
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// started waits until the run of a request is seen to run.
func (d *desk) started(a ask) {
	d.Helper()
	d.eventually("the run of "+a.request+" is running", func() bool {
		r, ok, err := d.journal.Latest(context.Background(), d.box("main"), mustID(d, a.id))
		d.must(err)
		return ok && r.Request.String() == a.request && r.State == delegation.StateRunning
	})
}

func (d *desk) latest(id string) journal.Run {
	d.Helper()
	r, ok, err := d.journal.Latest(context.Background(), d.box("main"), mustID(d, id))
	d.must(err)
	if !ok {
		d.Fatal("the journal knows nothing of", id)
	}
	return r
}

// ended waits until the newest run of a subagent has ended and is settled.
func (d *desk) ended(a ask) (r journal.Run) {
	d.Helper()
	d.eventually("the run of "+a.request+" has ended", func() bool {
		var ok bool
		var err error
		r, ok, err = d.journal.Latest(context.Background(), d.box("main"), mustID(d, a.id))
		d.must(err)
		return ok && r.Request.String() == a.request && r.State == delegation.StateEnded && r.Answered
	})
	return r
}

func mustID(d *desk, id string) delegation.SubagentID {
	d.Helper()
	parsed, err := delegation.ParseSubagentID(id)
	d.must(err)
	return parsed
}

// want checks what a client acts on.
func (d *desk) want(resp delegation.Response, status delegation.Status, reason delegation.Reason, exit int) {
	d.Helper()
	if resp.Status != status || resp.Reason != reason || resp.ExitCode != exit {
		d.Errorf("the response says %s, %s, %d (%q); want %s, %s, %d", resp.Status, resp.Reason, resp.ExitCode, resp.StderrTail, status, reason, exit)
	}
}

func (d *desk) touch(name string) {
	d.Helper()
	d.must(os.WriteFile(filepath.Join(d.outbox, name), nil, 0o644))
}

func (d *desk) remove(name string) {
	d.Helper()
	d.must(os.Remove(filepath.Join(d.outbox, name)))
}

func numbered(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, n) }
