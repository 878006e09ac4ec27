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
	"torno/test/house"
)

func TestThreeAtOnce(t *testing.T) { house.Together(t, house.Everybody, threeAtOnce) }

func threeAtOnce(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	var asks []house.Ask
	for i := range 3 {
		// Each waits until all three are there, so they prove that they run at the same time.
		shared := h.Mkdir(filepath.Join(h.Outbox, "workspaces", fmt.Sprint("s", i)))
		h.Must(os.Chown(shared, h.OwnerOf(1000), h.OwnerOf(1000)))
		asks = append(asks, h.Submit(house.Ask{ID: fmt.Sprint("s", i), UID: 1000, Task: fmt.Sprintf("echo up >up; while ! test -e go; do sleep 0.02; done; echo child %d", i)}))
	}
	for i := range asks {
		h.Eventually("the child is up", func() bool { _, err := os.Stat(filepath.Join(asks[i].Workspace, "up")); return err == nil })
	}
	for i, a := range asks {
		h.Must(os.WriteFile(filepath.Join(a.Workspace, "go"), nil, 0o644))
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if want := fmt.Sprintf("child %d\n", i); resp.StdoutTail != want || h.Read(a.Answer) != want {
			t.Errorf("the tail is %q, the answer %q", resp.StdoutTail, h.Read(a.Answer))
		}
		for _, name := range []string{"up", "answer.txt"} {
			info, err := os.Stat(filepath.Join(a.Workspace, name))
			h.Must(err)
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != uint32(h.OwnerOf(1000)) {
				t.Errorf("%s belongs to %d, not to the workspace's owner", name, uid)
			}
		}
	}
	h.Eventually("the sandboxes are removed", func() bool { return len(h.Sandboxes()) == 0 })
}

func TestHowARunCanEnd(t *testing.T) { house.Together(t, house.Everybody, howARunCanEnd) }

func howARunCanEnd(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox})
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
			h.Want(h.Run(house.Ask{ID: name, Task: c.task}), c.status, c.reason, c.exit)
		})
	}
}

// TestOutOfMemory asks three times at most: the engine can lose the news when the end overtakes it.
func TestOutOfMemory(t *testing.T) { house.Together(t, house.Each, outOfMemory) }

func outOfMemory(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	for i := range 3 {
		resp := h.Run(house.Ask{ID: fmt.Sprint("hog", i), Task: "exec tail /dev/zero"})
		if resp.Reason == delegation.ReasonOutOfMemory {
			h.Want(resp, delegation.StatusError, delegation.ReasonOutOfMemory, 137)
			return
		}
		h.Want(resp, delegation.StatusError, delegation.ReasonSignalled, 137)
	}
	t.Error("no response says that memory ended the run")
}

func TestATaskOfAMegabyte(t *testing.T) { house.Together(t, house.Everybody, aTaskOfAMegabyte) }

func aTaskOfAMegabyte(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox})
	task := "echo begin\n" + strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 1024) + "echo end\n"
	resp := h.Run(house.Ask{ID: "big", Task: task})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "begin\nend\n" {
		t.Errorf("it printed %q", resp.StdoutTail)
	}
}

// TestAFloodOfOutput: of a child that prints much more than is kept, the end is told, and no file is larger than it may be.
func TestAFloodOfOutput(t *testing.T) {
	house.Together(t, house.Everybody, func(t *testing.T, sandbox string) {
		flood(t, house.New(t, house.Plan{Sandbox: sandbox}), 16<<20)
	})
}

// TestAFloodIsNotKept: a child prints several times as much as the watcher's memory may grow.
func TestAFloodIsNotKept(t *testing.T) {
	for sandbox, size := range map[string]int{house.Docker: 256 << 20, house.GVisor: 128 << 20, house.Ordinary: 32 << 20} {
		t.Run(sandbox, func(t *testing.T) {
			h := house.New(t, house.Plan{Sandbox: sandbox})
			before, _ := h.Memory()
			flood(t, h, size)
			if after, _ := h.Memory(); after > before+30<<20 {
				t.Errorf("the watcher grew from %d to %d MiB", before>>20, after>>20)
			}
		})
	}
}

func flood(t *testing.T, h *house.House, size int) {
	t.Helper()
	a := h.Submit(house.Ask{ID: "flood", Timeout: 250, Task: fmt.Sprintf("yes 0123456789abcdef0123456789abcdef | head -c %d; echo; echo the end", size)})
	h.Within(4*time.Minute, "the flood is over", func() bool { return h.Exists("response_flood.json") }) // the engine is what takes long
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if !strings.HasSuffix(resp.StdoutTail, "the end\n") {
		t.Errorf("the end is lost: %q", resp.StdoutTail[max(0, len(resp.StdoutTail)-60):])
	}
	if n := len(h.Read(filepath.Join(h.Outbox, "workspaces/flood/answer.txt"))); n > 1<<20+4096 {
		t.Errorf("the answer has %d bytes", n)
	}
	var segments int64
	entries, err := os.ReadDir(h.Outbox)
	h.Must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "events_") {
			info, err := e.Info()
			h.Must(err)
			segments += info.Size()
			if info.Size() > 64<<10 {
				t.Errorf("the segment %s has %d bytes", e.Name(), info.Size())
			}
		}
	}
	if segments > 65*64<<10 {
		t.Errorf("live output takes %d bytes", segments)
	}
}

func TestDeadline(t *testing.T) { house.Together(t, house.Everybody, deadline) }

func deadline(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox})
	begin := time.Now()
	resp := h.Run(house.Ask{ID: "late", Task: "echo begun; exec sleep 1000", Timeout: 1})
	h.Want(resp, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("a second's deadline took %s", took)
	}
	stubborn := h.Run(house.Ask{ID: "stubborn", Task: "trap '' TERM INT; while :; do sleep 0.1; done", Timeout: 1})
	h.Want(stubborn, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
}

func TestCancel(t *testing.T) { house.Together(t, house.Everybody, cancel) }

func cancel(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox, MaxRunning: 1})
	running := h.Submit(house.Ask{ID: "running", Task: "trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done"})
	h.Says(running, "ready")
	queued := h.Submit(house.Ask{ID: "queued", Task: "echo never"})
	h.Eventually("the second waits", func() bool { return h.Exists("status_queued.json") })
	h.Touch("cancel_queued")
	h.Want(h.Response(queued), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	h.Touch("cancel_running")
	resp := h.Response(running)
	h.Want(resp, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if !strings.Contains(resp.StdoutTail, "saved") {
		t.Errorf("the agent had no time to save: %q", resp.StdoutTail)
	}
	for _, s := range h.Sandboxes() {
		if s.Running {
			t.Errorf("cancelled is said while %s runs", s.ID)
		}
	}
	h.Eventually("the sentinels are spent", func() bool { return !h.Exists("cancel_running") && !h.Exists("cancel_queued") })
}

// TestCancelOfOneThatIsEnding cancels a run whose time is up and whose agent is on its way out: the first cause wins.
func TestCancelOfOneThatIsEnding(t *testing.T) {
	house.Together(t, house.Each, cancelOfOneThatIsEnding)
}

func cancelOfOneThatIsEnding(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	var a house.Ask
	for timeout, ending := 1, false; !ending; timeout *= 2 { // until the agent was ready before its time was over
		a = h.Submit(house.Ask{
			ID: "s1", Request: fmt.Sprint("r", timeout), Timeout: timeout,
			Task: "trap 'touch ending; while ! test -e go; do sleep 0.02; done; exit 0' TERM; while :; do sleep 0.05; done",
		})
		h.Eventually("it is ending, or has ended", func() bool {
			ending = h.Exists("workspaces/s1/ending")
			response, _ := os.ReadFile(h.Path("response_s1.json"))
			return ending || strings.Contains(string(response), fmt.Sprintf("%q", a.Request))
		})
	}
	h.Touch("cancel_s1")
	h.Must(os.WriteFile(filepath.Join(a.Workspace, "go"), nil, 0o644))
	h.Want(h.Response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	h.Must(os.Remove(h.Path("request_s1.json")))
	h.Eventually("the sentinel does not outlive the request", func() bool { return !h.Exists("cancel_s1") && !h.Exists("response_s1.json") })
}

func TestTheSameIDTenTimes(t *testing.T) { house.Together(t, house.Each, theSameIDTenTimes) }

func theSameIDTenTimes(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox})
	first := h.Submit(house.Ask{ID: "s1", Request: "r0", Task: "echo ready; exec sleep 1000"})
	h.Says(first, "ready")
	for i := 1; i < 10; i++ {
		h.Submit(house.Ask{ID: "s1", Request: fmt.Sprint("r", i), Task: "mkdir only || echo TWO; trap 'rmdir only; exit 1' INT TERM; sleep 0.2; rmdir only"})
	}
	resp := h.Run(house.Ask{ID: "s1", Request: "r10", Task: "mkdir only && echo last"})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "last\n" {
		t.Errorf("the last one says %q", resp.StdoutTail)
	}
}

func TestContextAndWorkspaceFromOutside(t *testing.T) {
	house.Together(t, house.Everybody, contextAndWorkspaceFromOutside)
}

func contextAndWorkspaceFromOutside(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	shared := filepath.Join(h.Dir, "shared")
	h.Must(os.WriteFile(filepath.Join(shared, "notes"), []byte("remember\n"), 0o644))
	resp := h.Run(house.Ask{ID: "reader", Context: []string{shared}, Task: fmt.Sprintf("cat %[1]s/notes; touch %[1]s/x 2>/dev/null && echo WRITABLE; pwd", shared)})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if want := "remember\n" + filepath.Join(h.Outbox, "workspaces/reader") + "\n"; resp.StdoutTail != want {
		t.Errorf("it says %q, want %q", resp.StdoutTail, want)
	}
	etc := h.Run(house.Ask{ID: "etc", Context: []string{"/etc"}, Task: "cat /etc/shadow"})
	h.Want(etc, delegation.StatusError, delegation.ReasonRefused, -1)
	if etc.Error == nil || etc.Error.Code != delegation.CodeContext || !strings.Contains(etc.StderrTail, "/etc") {
		t.Errorf("the refusal is %+v %q", etc.Error, etc.StderrTail)
	}
	out := h.Run(house.Ask{ID: "out", Workspace: shared, Task: "echo"})
	if want := "Workspace path not in allowed roots: " + shared; out.StderrTail != want {
		t.Errorf("upstream says %q, we say %q", want, out.StderrTail)
	}
	link := filepath.Join(h.Outbox, "workspaces", "link")
	h.Must(os.Symlink("/etc", link))
	if resp := h.Run(house.Ask{ID: "link", Workspace: link, Task: "ls"}); resp.Error == nil || resp.Error.Code != delegation.CodeWorkspace {
		t.Errorf("a link as a workspace: %+v", resp)
	}
}

func TestTheClientGoesAway(t *testing.T) { house.Together(t, house.Each, theClientGoesAway) }

func theClientGoesAway(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; exec sleep 1000"})
	h.Says(a, "ready")
	h.Must(os.Remove(h.Path("request_s1.json")))
	h.Eventually("nothing is left", func() bool {
		entries, err := os.ReadDir(h.Outbox)
		h.Must(err)
		for _, e := range entries {
			if strings.Contains(e.Name(), "s1") {
				return false
			}
		}
		return len(h.Sandboxes()) == 0
	})
	run, err := h.Client.Run(t.Context(), "s1")
	h.Must(err)
	if run.Reason != delegation.ReasonClientGone {
		t.Errorf("the journal says %s", run.Reason)
	}
}

func TestOutputIsSeenLive(t *testing.T) { house.Together(t, house.Each, outputIsSeenLive) }

func outputIsSeenLive(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo one; while ! test -e go; do sleep 0.02; done; echo two"})
	h.Eventually("a segment shows it", func() bool {
		names, err := filepath.Glob(h.Path("events_s1.*.jsonl"))
		h.Must(err)
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(`"one\n"`)) {
				return true
			}
		}
		return false
	})
	h.Must(os.WriteFile(filepath.Join(a.Workspace, "go"), nil, 0o644))
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
