package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
)

func TestTwoOutboxes(t *testing.T) {
	second := filepath.Join(t.TempDir(), "second")
	h := newHouse(t, plan{Extra: "  second:\n    dir: " + second + "\n    allow: [" + second + "/workspaces]\n    profiles: [sh]", Dirs: []string{second + "/workspaces"}})
	// The same id in both, at the same time: an id is its parent's own.
	a := h.submit(ask{id: "s1", task: "echo ready; while ! test -e go; do sleep 0.02; done; echo first"})
	h.says(a, "ready")
	other := &house{TB: t, engine: h.engine, dir: h.dir, outbox: second, client: h.client}
	resp := other.run(ask{id: "s1", task: "echo second"})
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "second\n" {
		t.Errorf("the second outbox's run says %q", resp.StdoutTail)
	}
	foreign := other.run(ask{id: "thief", task: "cat", workspace: a.workspace})
	if foreign.Error == nil || foreign.Error.Code != delegation.CodeWorkspace {
		t.Errorf("a workspace of another outbox: %+v", foreign)
	}
	h.touch("workspaces/s1/go")
	h.want(h.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestARequestThatIsStillBeingWritten(t *testing.T) {
	h := newHouse(t, plan{})
	a := h.submit(ask{id: "whole", task: "echo whole"})
	h.response(a)
	body := bytes.ReplaceAll([]byte(h.read(h.path("request_whole.json"))), []byte("whole"), []byte("parts"))
	workspace := h.mkdir(h.path("workspaces/parts"))
	file, err := os.Create(h.path("request_parts.json"))
	h.must(err)
	defer file.Close()
	for _, part := range [][]byte{body[:9], body[9:40], body[40:]} {
		_, err := file.Write(part)
		h.must(err)
		h.must(file.Sync())
	}
	h.want(h.response(ask{id: "parts", request: "req parts", workspace: workspace}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestByPathTheChildIsTheWorkspacesOwner(t *testing.T) {
	h := newHouse(t, plan{Mounts: "by-path", Extra: "    owners: [1000]"})
	resp := h.run(ask{id: "mine", uid: 1000, task: "id -u; touch made; cat /proc/self/uid_map >/dev/null"})
	h.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "1000\n" {
		t.Errorf("the child is %q", resp.StdoutTail)
	}
	info, err := os.Stat(filepath.Join(h.outbox, "workspaces/mine/made"))
	h.must(err)
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 1000 {
		t.Errorf("its file belongs to %d", uid)
	}
	for id, uid := range map[string]int{"roots": 0, "foreign": 1001} {
		if resp := h.run(ask{id: id, uid: uid, task: "id"}); resp.Error == nil || resp.Error.Code != delegation.CodeIdentity {
			t.Errorf("a workspace of uid %d by path: %+v", uid, resp)
		}
	}
}

func TestADemandThatCannotBeMetIsRefused(t *testing.T) {
	h := newHouse(t, plan{Profiles: "  strict:\n    at_least: [kernel_isolation]\n", Offers: ", strict"})
	resp := h.run(ask{id: "s1", profile: "strict", task: "echo never"})
	h.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeNotEnforced || !strings.Contains(resp.StderrTail, "kernel_isolation") {
		t.Errorf("the refusal is %+v %q", resp.Error, resp.StderrTail)
	}
}

func TestAProfileFromElsewhereIsRefused(t *testing.T) {
	h := newHouse(t, plan{Profiles: "  other:\n    description: not on offer here\n"})
	resp := h.run(ask{id: "s1", profile: "other", task: "echo never"})
	if resp.Error == nil || resp.Error.Code != delegation.CodeProfile || !strings.Contains(resp.Error.Hint, "sh") {
		t.Errorf("the refusal is %+v", resp.Error)
	}
}

// subagent runs the parent's command and returns its output and exit code.
func (h *house) subagent(args ...string) (stdout, stderr string, code int) {
	h.Helper()
	command := exec.Command(filepath.Join(bin, "subagent"), append([]string{"--outbox", h.outbox}, args...)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	return out.String(), errs.String(), command.ProcessState.ExitCode()
}

func TestTheParentsCommand(t *testing.T) {
	h := newHouse(t, plan{})
	out, errs, code := h.subagent("spawn", "--wait", "--", "echo hello; echo there >file")
	if code != 0 || out != "hello\n" {
		t.Errorf("spawn --wait: %d, %q, %q", code, out, errs)
	}
	for task, want := range map[string]int{"exit 9": 1, "exec sleep 100": 3} {
		if _, errs, code := h.subagent("spawn", "--wait", "--timeout", "1s", "--", task); code != want {
			t.Errorf("%q ends with %d, want %d: %s", task, code, want, errs)
		}
	}
	if _, errs, code := h.subagent("spawn", "--wait", "--context", "/etc", "--", "cat /etc/shadow"); code != 5 || !strings.Contains(errs, "/etc") {
		t.Errorf("asking for /etc ends with %d: %s", code, errs)
	}
	out, _, code = h.subagent("spawn", "--id", "long", "--json", "--", "echo started; exec sleep 100")
	var spawned map[string]any
	if code != 0 || json.Unmarshal([]byte(out), &spawned) != nil || spawned["subagent_id"] != "long" {
		t.Errorf("spawn --json: %d, %q", code, out)
	}
	h.eventually("logs show the output", func() bool {
		out, _, _ := h.subagent("logs", "long")
		return strings.Contains(out, "started")
	})
	if out, _, _ := h.subagent("list"); !strings.Contains(out, "long") || !strings.Contains(out, "running") {
		t.Errorf("list shows %q", out)
	}
	if _, errs, code := h.subagent("cancel", "--wait", "long"); code != 0 {
		t.Errorf("cancel --wait ends with %d: %s", code, errs)
	}
	h.must(h.signal(syscall.SIGTERM))
	if _, errs, code := h.subagent("spawn", "--", "echo"); code != 6 || !strings.Contains(errs, "watcher") {
		t.Errorf("with nobody serving it ends with %d: %s", code, errs)
	}
}
