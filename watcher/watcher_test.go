package watcher

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
)

func TestARequestIsAnswered(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo hello"})
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "hello\n" || resp.StderrTail != "" || resp.SubagentID != "s1" || resp.Attempt != 1 || resp.Timings == nil {
		t.Errorf("the response is %+v", resp)
	}
	answer, err := os.ReadFile(filepath.Join(d.outbox, "workspaces/s1/answer.txt"))
	if err != nil || string(answer) != "hello\n" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	d.eventually("the sandbox is removed", func() bool { return d.world.Calls(sandboxtest.OpRemove) > 0 })
}

func TestExitCodesReachTheClient(t *testing.T) {
	d := newDesk(t, nil)
	for code, want := range map[string]delegation.Reason{
		"3": delegation.ReasonExited, "125": delegation.ReasonExited, "127": delegation.ReasonExited, "139": delegation.ReasonSignalled,
	} {
		resp := d.response(d.submit(ask{id: "s" + code, task: "exit " + code}))
		if resp.Status != delegation.StatusError || resp.Reason != want {
			t.Errorf("exit %s: %+v", code, resp)
		}
	}
	resp := d.response(d.submit(ask{id: "oom", task: "hog"}))
	d.want(resp, delegation.StatusError, delegation.ReasonOutOfMemory, 137)
}

func TestRefusals(t *testing.T) {
	d := newDesk(t, nil)
	d.must(os.MkdirAll(filepath.Join(d.outbox, "elsewhere"), 0o755))
	outside := filepath.Join(d.outbox, "elsewhere")
	resp := d.response(d.submit(ask{id: "out", task: "echo", workspace: outside}))
	d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if want := "Workspace path not in allowed roots: " + outside; resp.StderrTail != want {
		t.Errorf("upstream says %q, we say %q", want, resp.StderrTail)
	}

	for name, c := range map[string]struct {
		body string
		code delegation.Code
		text string
	}{
		"nonsense": {"hello", delegation.CodeUnparsable, "Failed to parse request: "},
		"other":    {`{"version":1,"subagent_id":"s9","request_id":"r","task":"t","yaml_config":{},"answer_file":"","workspace":"w","timeout_seconds":1}`, delegation.CodeIDMismatch, "Invalid request: "},
		"notime":   {`{"version":1,"subagent_id":"notime","request_id":"r","task":"t","yaml_config":{},"answer_file":"","workspace":"w","timeout_seconds":0}`, delegation.CodeInvalid, "Invalid request: timeout_seconds must be positive, got 0"},
		"a bad id": {"{}", delegation.CodeUnparsable, "Failed to parse request: "},
	} {
		d.drop(d.outbox, "request_"+name+".json", []byte(c.body))
		resp := d.response(ask{id: name})
		if resp.Status != delegation.StatusError || resp.Error == nil || resp.Error.Code != c.code || !strings.HasPrefix(resp.StderrTail, c.text) {
			t.Errorf("%s: %+v %+v", name, resp, resp.Error)
		}
	}
	if all := d.world.Sandboxes(); len(all) != 0 {
		t.Errorf("refused requests were launched: %v", all)
	}
}

func TestWhatIsNoFileIsAnsweredAndNeverOpened(t *testing.T) {
	d := newDesk(t, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	d.must(os.WriteFile(secret, []byte("x"), 0o600))
	d.must(os.Symlink(secret, filepath.Join(d.outbox, "request_link.json")))
	d.must(syscall.Mkfifo(filepath.Join(d.outbox, "request_fifo.json"), 0o666))
	d.must(os.Mkdir(filepath.Join(d.outbox, "request_dir.json"), 0o755))
	d.must(os.Link(secret, filepath.Join(d.outbox, "request_hard.json")))
	for _, id := range []string{"link", "fifo", "dir", "hard"} {
		resp := d.response(ask{id: id})
		if resp.Error == nil || resp.Error.Code != delegation.CodeNotAFile {
			t.Errorf("%s: %+v", id, resp)
		}
	}
}

func TestAHalfWrittenRequestIsReadAgain(t *testing.T) {
	d := newDesk(t, nil)
	workspace := filepath.Join(d.outbox, "workspaces", "cp")
	d.must(os.MkdirAll(workspace, 0o755))
	body, err := json.Marshal(map[string]any{
		"version": 1, "subagent_id": "cp", "request_id": "r", "task": "echo whole",
		"yaml_config": map[string]any{}, "answer_file": "", "workspace": workspace, "timeout_seconds": 5,
	})
	d.must(err)
	file, err := os.Create(filepath.Join(d.outbox, "request_cp.json"))
	d.must(err)
	defer file.Close()
	_, err = file.Write(body[:20])
	d.must(err)
	d.must(file.Sync())
	_, err = file.Write(body[20:])
	d.must(err)
	d.want(d.response(ask{id: "cp", request: "r"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestCancelWhileRunning(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.touch("cancel_s1")
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.eventually("the sentinel is spent", func() bool { return !d.exists("cancel_s1") })
}

func TestAnOldSentinelDoesNotCount(t *testing.T) {
	d := newDesk(t, nil)
	d.touch("cancel_s1")
	d.eventually("the sentinel is gone", func() bool { return !d.exists("cancel_s1") })
	d.want(d.response(d.submit(ask{id: "s1", task: "echo fine"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestDeadline(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.printed("s1", "ready\n")
	d.started(a)
	d.overtime()
	resp := d.response(a)
	d.want(resp, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	if resp.StdoutTail != "ready\n" {
		t.Errorf("what it printed is lost: %q", resp.StdoutTail)
	}
}

func TestAClientThatGivesUpLeavesNothing(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.remove("request_s1.json")
	if r := d.ended(a); r.Reason != delegation.ReasonClientGone {
		t.Errorf("the reason is %s", r.Reason)
	}
	d.eventually("nothing of it is left", func() bool {
		for _, name := range d.names(d.outbox) {
			if strings.Contains(name, "s1") {
				return false
			}
		}
		return true
	})
}

func TestTheSameIDTenTimes(t *testing.T) {
	d := newDesk(t, nil)
	first := d.submit(ask{id: "s1", request: "r0", task: "ignore-term"})
	d.started(first)
	for i := 1; i < 10; i++ {
		d.submit(ask{id: "s1", request: numbered("r", i), task: "sleep"})
	}
	last := d.submit(ask{id: "s1", request: "r10", task: "echo last"})
	resp := d.response(last)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "last\n" {
		t.Errorf("the answer is another one's: %q", resp.StdoutTail)
	}
	if n := d.world.MostAtOnce("s1"); n != 1 {
		t.Errorf("%d runs of one subagent at once", n)
	}
}

func TestTheQueue(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].Queue = 1, 2 })
	running := d.submit(ask{id: "running", task: "sleep"})
	d.started(running)
	waits := d.submit(ask{id: "waits", task: "echo waited"})
	d.eventually("the status shows the place", func() bool {
		data, err := os.ReadFile(filepath.Join(d.outbox, "status_waits.json"))
		var s delegation.RunStatus
		return err == nil && json.Unmarshal(data, &s) == nil && s.State == delegation.StateQueued && s.Position == 1
	})
	gives := d.submit(ask{id: "gives-up", task: "echo never"})
	d.eventually("the status shows the second place", func() bool { return d.exists("status_gives-up.json") })
	full := d.response(d.submit(ask{id: "full", task: "echo never"}))
	if full.Error == nil || full.Error.Code != delegation.CodeQueueFull || !strings.Contains(full.StderrTail, "2") {
		t.Errorf("a full queue answers %+v", full)
	}
	d.touch("cancel_gives-up")
	d.want(d.response(gives), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.touch("cancel_running")
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.want(d.response(waits), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if n := d.world.MostOfAll(); n != 1 {
		t.Errorf("%d ran at once where 1 may", n)
	}
}

func TestWorkspacesAreNotShared(t *testing.T) {
	d := newDesk(t, nil)
	within := filepath.Join(d.outbox, "workspaces", "project", "s1")
	below := filepath.Join(within, "below")
	d.must(os.MkdirAll(below, 0o755))
	a := d.submit(ask{id: "s1", task: "sleep", workspace: within})
	d.started(a)
	for id, workspace := range map[string]string{"same": a.workspace, "below": below, "above": filepath.Dir(a.workspace)} {
		resp := d.response(d.submit(ask{id: id, task: "echo", workspace: workspace}))
		if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
			t.Errorf("%s: %+v", id, resp)
		}
	}
}

func TestWorkspacesMayBeWaitedFor(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].QueueBusy = true })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	b := d.submit(ask{id: "s2", task: "echo after", workspace: a.workspace})
	d.eventually("s2 waits", func() bool { return d.exists("status_s2.json") })
	d.touch("cancel_s1")
	d.response(a)
	d.want(d.response(b), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if shared := d.world.SharedWorkspaces(); len(shared) != 0 {
		t.Errorf("workspaces were shared: %v", shared)
	}
}

func TestOneOutboxCannotStarveAnother(t *testing.T) {
	var second string
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	second = d.newOutbox("second")
	d.stop()
	d.config.Outboxes = append(d.config.Outboxes, d.settings("second", second))
	d.open()
	first := d.submit(ask{id: "first", task: "sleep"})
	d.started(first)
	for i := range 10 {
		d.submit(ask{id: numbered("flood", i), task: "sleep", timeout: 1})
	}
	d.eventually("the flood waits", func() bool { return d.exists("status_flood9.json") })
	other := d.submit(ask{id: "other", task: "echo", outbox: second})
	d.eventually("the other waits", func() bool {
		_, err := os.Stat(filepath.Join(second, "status_other.json"))
		return err == nil
	})
	d.touch("cancel_first")
	d.want(d.response(other), delegation.StatusCompleted, delegation.ReasonExited, 0)
	its, _, err := d.journal.Latest(d.Context(), d.box("second"), mustID(d, "other"))
	d.must(err)
	before := 0
	for i := range 10 {
		if r := d.latest(numbered("flood", i)); !r.Released.IsZero() && r.Released.Before(its.Released) {
			before++
		}
	}
	if before > 1 {
		t.Errorf("%d runs of the flood went first", before)
	}
}

func TestALaunchThatFails(t *testing.T) {
	boom := errors.New("the launcher is on fire")
	for op, wantKeys := range map[sandboxtest.Op]int{sandboxtest.OpCreate: 0, sandboxtest.OpStart: 1, sandboxtest.OpInit: 1} {
		t.Run(string(op), func(t *testing.T) {
			d := newDesk(t, nil)
			d.world.Fail(op, 1, boom)
			resp := d.response(d.submit(ask{id: "s1", task: "echo"}))
			d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
			if resp.Error == nil || resp.StderrTail == "" {
				t.Errorf("nothing is said: %+v", resp)
			}
			if n := len(d.world.Sandboxes()); n != wantKeys {
				t.Errorf("%d sandboxes were made", n)
			}
			d.empty()
		})
	}
}

func TestACreateThatSucceedsAndFailsLeavesNothing(t *testing.T) {
	d := newDesk(t, nil)
	d.world.FailAfter(sandboxtest.OpCreate, 1, errors.New("the connection broke"))
	d.want(d.response(d.submit(ask{id: "s1", task: "echo"})), delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	d.empty()
}

// empty waits until the launcher holds nothing of ours.
func (d *desk) empty() {
	d.Helper()
	d.eventually("no sandbox is left", func() bool {
		handles, err := d.fake.List(t0())
		d.must(err)
		return len(handles) == 0
	})
}

func TestABrokenConnectionIsMadeAgain(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Fail(sandboxtest.OpWait, 1, errors.New("the connection broke"))
	resp := d.response(d.submit(ask{id: "s1", task: "lines 5 0.01"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "line 1\nline 2\nline 3\nline 4\nline 5\n" {
		t.Errorf("lines were lost or doubled: %q", resp.StdoutTail)
	}
}

func TestASandboxThatVanishesIsLost(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.world.Vanish(*d.latest("s1").Handle)
	d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
}
