package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
)

func TestThreeAtOnce(t *testing.T) {
	h := newHouse(t, plan{})
	var asks []ask
	for i := range 3 {
		// Each waits until all three are there, so they prove that they run at the same time.
		shared := h.mkdir(filepath.Join(h.outbox, "workspaces", fmt.Sprint("s", i)))
		h.must(os.Chown(shared, 1000, 1000))
		asks = append(asks, h.submit(ask{id: fmt.Sprint("s", i), uid: 1000, task: fmt.Sprintf("echo up >up; while ! test -e go; do sleep 0.02; done; echo child %d", i)}))
	}
	for i := range asks {
		h.eventually("the child is up", func() bool { _, err := os.Stat(filepath.Join(asks[i].workspace, "up")); return err == nil })
	}
	for i, a := range asks {
		h.must(os.WriteFile(filepath.Join(a.workspace, "go"), nil, 0o644))
		resp := h.response(a)
		h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if want := fmt.Sprintf("child %d\n", i); resp.StdoutTail != want || h.read(a.answer) != want {
			t.Errorf("the tail is %q, the answer %q", resp.StdoutTail, h.read(a.answer))
		}
		for _, name := range []string{"up", "answer.txt"} {
			info, err := os.Stat(filepath.Join(a.workspace, name))
			h.must(err)
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 1000 {
				t.Errorf("%s belongs to %d, not to the workspace's owner", name, uid)
			}
		}
	}
	h.eventually("the sandboxes are removed", func() bool { return len(h.engine.containers(t, h.installation())) == 0 })
}

func (h *house) installation() string {
	h.Helper()
	status, err := h.client.Status(h.Context())
	h.must(err)
	return status.Installation
}

func TestHowARunCanEnd(t *testing.T) {
	h := newHouse(t, plan{})
	for name, c := range map[string]struct {
		task   string
		status delegation.Status
		reason delegation.Reason
		exit   int
	}{
		"fails":      {"echo no >&2; exit 3", delegation.StatusError, delegation.ReasonExited, 3},
		"signalled":  {"kill -SEGV $$", delegation.StatusError, delegation.ReasonSignalled, 139},
		"exit125":    {"echo 'torno-init 1 failed mount nonsense' >&2; exit 125", delegation.StatusError, delegation.ReasonExited, 125},
		"exit126":    {"echo 'torno-init 1 started 1' >&2; exit 126", delegation.StatusError, delegation.ReasonExited, 126},
		"exit127":    {"no-such-program", delegation.StatusError, delegation.ReasonExited, 127},
		"grandchild": {"(trap '' TERM INT HUP; sleep 1000) & setsid sleep 1000 & echo gone", delegation.StatusCompleted, delegation.ReasonExited, 0},
		"binary":     {"head -c 300 /dev/urandom; printf '\\377\\000'", delegation.StatusCompleted, delegation.ReasonExited, 0},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			h.want(h.run(ask{id: name, task: c.task}), c.status, c.reason, c.exit)
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestOutOfMemory asks three times at most: the engine can lose the news when the end overtakes it.
func TestOutOfMemory(t *testing.T) {
	h := newHouse(t, plan{})
	for i := range 3 {
		resp := h.run(ask{id: fmt.Sprint("hog", i), task: "exec tail /dev/zero"})
		if resp.Reason == delegation.ReasonOutOfMemory {
			h.want(resp, delegation.StatusError, delegation.ReasonOutOfMemory, 137)
			return
		}
		h.want(resp, delegation.StatusError, delegation.ReasonSignalled, 137)
	}
	t.Error("no response says that memory ended the run")
}

func TestATaskOfAMegabyte(t *testing.T) {
	h := newHouse(t, plan{})
	task := "echo begin\n" + strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 1024) + "echo end\n"
	resp := h.run(ask{id: "big", task: task})
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "begin\nend\n" {
		t.Errorf("it printed %q", resp.StdoutTail)
	}
}

func TestAGigabyteOfOutput(t *testing.T) {
	h := newHouse(t, plan{})
	before := h.memory()
	a := h.submit(ask{id: "flood", task: "yes 0123456789abcdef0123456789abcdef | head -c 1073741824; echo; echo the end", timeout: 250})
	h.within(4*time.Minute, "the flood is over", func() bool { return h.exists("response_flood.json") }) // the engine is what takes long
	resp := h.response(a)
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if !strings.HasSuffix(resp.StdoutTail, "the end\n") {
		t.Errorf("the end is lost: %q", resp.StdoutTail[max(0, len(resp.StdoutTail)-60):])
	}
	if n := len(h.read(filepath.Join(h.outbox, "workspaces/flood/answer.txt"))); n > 1<<20+4096 {
		t.Errorf("the answer has %d bytes", n)
	}
	var segments int64
	entries, err := os.ReadDir(h.outbox)
	h.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "events_") {
			info, err := e.Info()
			h.must(err)
			segments += info.Size()
			if info.Size() > 64<<10 {
				t.Errorf("the segment %s has %d bytes", e.Name(), info.Size())
			}
		}
	}
	if segments > 65*64<<10 {
		t.Errorf("live output takes %d bytes", segments)
	}
	if after := h.memory(); after > before+30<<20 {
		t.Errorf("the watcher grew from %d to %d MiB", before>>20, after>>20)
	}
}

// memory is what the watcher holds.
func (h *house) memory() (bytes int64) {
	h.Helper()
	var pages, resident int64
	_, err := fmt.Sscan(h.read(fmt.Sprintf("/proc/%d/statm", h.process.Process.Pid)), &pages, &resident)
	h.must(err)
	return resident * int64(os.Getpagesize())
}

func TestDeadline(t *testing.T) {
	h := newHouse(t, plan{})
	begin := time.Now()
	resp := h.run(ask{id: "late", task: "echo begun; exec sleep 1000", timeout: 1})
	h.want(resp, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	if took := time.Since(begin); took < time.Second || took > 5*time.Second {
		t.Errorf("a second's deadline took %s", took)
	}
	stubborn := h.run(ask{id: "stubborn", task: "trap '' TERM INT; while :; do sleep 0.1; done", timeout: 1})
	h.want(stubborn, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
}

func TestCancel(t *testing.T) {
	h := newHouse(t, plan{MaxRunning: 1})
	running := h.submit(ask{id: "running", task: "trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done"})
	h.says(running, "ready")
	queued := h.submit(ask{id: "queued", task: "echo never"})
	h.eventually("the second waits", func() bool { return h.exists("status_queued.json") })
	h.touch("cancel_queued")
	h.want(h.response(queued), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	h.touch("cancel_running")
	resp := h.response(running)
	h.want(resp, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if !strings.Contains(resp.StdoutTail, "saved") {
		t.Errorf("the agent had no time to save: %q", resp.StdoutTail)
	}
	for _, c := range h.engine.containers(t, h.installation()) {
		if c.State == "running" {
			t.Errorf("cancelled is said while %v runs", c.Names)
		}
	}
	h.eventually("the sentinels are spent", func() bool { return !h.exists("cancel_running") && !h.exists("cancel_queued") })
}

// TestCancelOfOneThatIsEnding cancels a run whose time is up and whose agent is on its way out: the first cause wins.
func TestCancelOfOneThatIsEnding(t *testing.T) {
	h := newHouse(t, plan{})
	a := h.submit(ask{id: "s1", timeout: 1, task: "trap 'echo ending; while ! test -e go; do sleep 0.02; done; exit 0' TERM; while :; do sleep 0.05; done"})
	h.says(a, "ending")
	h.touch("cancel_s1")
	h.must(os.WriteFile(filepath.Join(a.workspace, "go"), nil, 0o644))
	h.want(h.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	h.must(os.Remove(h.path("request_s1.json")))
	h.eventually("the sentinel does not outlive the request", func() bool { return !h.exists("cancel_s1") && !h.exists("response_s1.json") })
}

func TestTheSameIDTenTimes(t *testing.T) {
	h := newHouse(t, plan{})
	first := h.submit(ask{id: "s1", request: "r0", task: "echo ready; exec sleep 1000"})
	h.says(first, "ready")
	for i := 1; i < 10; i++ {
		h.submit(ask{id: "s1", request: fmt.Sprint("r", i), task: "mkdir only || echo TWO; sleep 0.2; rmdir only"})
	}
	resp := h.run(ask{id: "s1", request: "r10", task: "mkdir only && echo last"})
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "last\n" {
		t.Errorf("the last one says %q", resp.StdoutTail)
	}
}

func TestContextAndWorkspaceFromOutside(t *testing.T) {
	h := newHouse(t, plan{})
	shared := filepath.Join(h.dir, "shared")
	h.must(os.WriteFile(filepath.Join(shared, "notes"), []byte("remember\n"), 0o644))
	resp := h.run(ask{id: "reader", context: []string{shared}, task: fmt.Sprintf("cat %[1]s/notes; touch %[1]s/x 2>/dev/null && echo WRITABLE; pwd", shared)})
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if want := "remember\n" + filepath.Join(h.outbox, "workspaces/reader") + "\n"; resp.StdoutTail != want {
		t.Errorf("it says %q, want %q", resp.StdoutTail, want)
	}
	etc := h.run(ask{id: "etc", context: []string{"/etc"}, task: "cat /etc/shadow"})
	h.want(etc, delegation.StatusError, delegation.ReasonRefused, -1)
	if etc.Error == nil || etc.Error.Code != delegation.CodeContext || !strings.Contains(etc.StderrTail, "/etc") {
		t.Errorf("the refusal is %+v %q", etc.Error, etc.StderrTail)
	}
	out := h.run(ask{id: "out", workspace: shared, task: "echo"})
	if want := "Workspace path not in allowed roots: " + shared; out.StderrTail != want {
		t.Errorf("upstream says %q, we say %q", want, out.StderrTail)
	}
	link := filepath.Join(h.outbox, "workspaces", "link")
	h.must(os.Symlink("/etc", link))
	if resp := h.run(ask{id: "link", workspace: link, task: "ls"}); resp.Error == nil || resp.Error.Code != delegation.CodeWorkspace {
		t.Errorf("a link as a workspace: %+v", resp)
	}
}

func TestTheClientGoesAway(t *testing.T) {
	h := newHouse(t, plan{})
	a := h.submit(ask{id: "s1", task: "echo ready; exec sleep 1000"})
	h.says(a, "ready")
	h.must(os.Remove(h.path("request_s1.json")))
	h.eventually("nothing is left", func() bool {
		entries, err := os.ReadDir(h.outbox)
		h.must(err)
		for _, e := range entries {
			if strings.Contains(e.Name(), "s1") {
				return false
			}
		}
		return len(h.engine.containers(t, h.installation())) == 0
	})
	run, err := h.client.Run(t.Context(), "s1")
	h.must(err)
	if run.Reason != delegation.ReasonClientGone {
		t.Errorf("the journal says %s", run.Reason)
	}
}

func TestOutputIsSeenLive(t *testing.T) {
	h := newHouse(t, plan{})
	a := h.submit(ask{id: "s1", task: "echo one; while ! test -e go; do sleep 0.02; done; echo two"})
	h.eventually("a segment shows it", func() bool {
		names, err := filepath.Glob(h.path("events_s1.*.jsonl"))
		h.must(err)
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(`"one\n"`)) {
				return true
			}
		}
		return false
	})
	h.must(os.WriteFile(filepath.Join(a.workspace, "go"), nil, 0o644))
	h.want(h.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
