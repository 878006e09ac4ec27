package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

func TestTwoOutboxes(t *testing.T) { house.Together(t, house.Each, twoOutboxes) }

func twoOutboxes(t *testing.T, sandbox string) {
	second := filepath.Join(t.TempDir(), "second")
	h := house.New(t, house.Plan{Ahead: true, Sandbox: sandbox, Extra: "  second:\n    dir: " + second + "\n    allow: [" + second + "/workspaces]\n    profiles: [sh]", Dirs: []string{second + "/workspaces"}})
	// The same id in both, at the same time: an id is its parent's own.
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo first"})
	h.Says(a, "ready")
	other := h.Beside(second)
	resp := other.Run(house.Ask{ID: "s1", Task: "echo second"})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "second\n" {
		t.Errorf("the second outbox's run says %q", resp.StdoutTail)
	}
	foreign := other.Run(house.Ask{ID: "thief", Task: "cat", Workspace: a.Workspace})
	if foreign.Error == nil || foreign.Error.Code != delegation.CodeWorkspace {
		t.Errorf("a workspace of another outbox: %+v", foreign)
	}
	h.Touch("workspaces/s1/go")
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestARequestThatIsStillBeingWritten(t *testing.T) {
	house.Together(t, house.Each, aRequestThatIsStillBeingWritten)
}

func aRequestThatIsStillBeingWritten(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "whole", Task: "echo whole"})
	h.Response(a)
	body := bytes.ReplaceAll([]byte(h.Read(h.Path("request_whole.json"))), []byte("whole"), []byte("parts"))
	workspace := h.Mkdir(h.Path("workspaces/parts"))
	file, err := os.Create(h.Path("request_parts.json"))
	h.Must(err)
	defer file.Close()
	for _, part := range [][]byte{body[:9], body[9:40], body[40:]} {
		_, err := file.Write(part)
		h.Must(err)
		h.Must(file.Sync())
	}
	h.Want(h.Response(house.Ask{ID: "parts", Request: "req parts", Workspace: workspace}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestByPathTheChildIsTheWorkspacesOwner(t *testing.T) {
	h := house.New(t, house.Plan{Mounts: "by-path", Extra: "    owners: [1000]"})
	resp := h.Run(house.Ask{ID: "mine", UID: 1000, Task: "id -u; touch made; cat /proc/self/uid_map >/dev/null"})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "1000\n" {
		t.Errorf("the child is %q", resp.StdoutTail)
	}
	info, err := os.Stat(filepath.Join(h.Outbox, "workspaces/mine/made"))
	h.Must(err)
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 1000 {
		t.Errorf("its file belongs to %d", uid)
	}
	for id, uid := range map[string]int{"roots": 0, "foreign": 1001} {
		if resp := h.Run(house.Ask{ID: id, UID: uid, Task: "id"}); resp.Error == nil || resp.Error.Code != delegation.CodeIdentity {
			t.Errorf("a workspace of uid %d by path: %+v", uid, resp)
		}
	}
}

// TestWorkspacesOfOthers: by handle too a workspace belongs to one of the outbox's owners, by default to the owner of the outbox.
func TestWorkspacesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		owners string
		good   map[int]bool
	}{
		"default": {"[]", map[int]bool{0: true, 1000: false, 1001: false}},
		"named":   {"[1000, 1001]", map[int]bool{0: false, 1000: true, 1001: true, 1002: false}},
	} {
		h := house.New(t, house.Plan{Extra: "    owners: " + c.owners})
		for uid, good := range c.good {
			resp := h.Run(house.Ask{ID: fmt.Sprint(name, "-", uid), UID: uid, Task: "touch made"})
			switch {
			case good:
				h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			case resp.Error == nil || resp.Error.Code != delegation.CodeIdentity || resp.Error.Hint == "":
				t.Errorf("%s: a workspace of user %d: %+v", name, uid, resp)
			}
		}
	}
}

func TestADemandThatCannotBeMetIsRefused(t *testing.T) {
	h := house.New(t, house.Plan{Profiles: "  strict:\n    at_least: [kernel_isolation]\n", Offers: ", strict"})
	resp := h.Run(house.Ask{ID: "s1", Profile: "strict", Task: "echo never"})
	h.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeNotEnforced || !strings.Contains(resp.StderrTail, "kernel_isolation") {
		t.Errorf("the refusal is %+v %q", resp.Error, resp.StderrTail)
	}
}

func TestAProfileFromElsewhereIsRefused(t *testing.T) {
	h := house.New(t, house.Plan{Profiles: "  other:\n    description: not on offer here\n"})
	resp := h.Run(house.Ask{ID: "s1", Profile: "other", Task: "echo never"})
	if resp.Error == nil || resp.Error.Code != delegation.CodeProfile || !strings.Contains(resp.Error.Hint, "sh") {
		t.Errorf("the refusal is %+v", resp.Error)
	}
}

// subagent runs the parent's command and returns its output and exit code.
func subagent(h *house.House, args ...string) (stdout, stderr string, code int) {
	h.Helper()
	command := h.Command("subagent", append([]string{"--outbox", h.Outbox}, args...)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	return out.String(), errs.String(), command.ProcessState.ExitCode()
}

func TestTheParentsCommand(t *testing.T) { house.Together(t, house.Everybody, theParentsCommand) }

func theParentsCommand(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	out, errs, code := subagent(h, "spawn", "--wait", "--", "echo hello; echo there >file")
	if code != 0 || out != "hello\n" {
		t.Errorf("spawn --wait: %d, %q, %q", code, out, errs)
	}
	if _, errs, code := subagent(h, "spawn", "--wait", "--", "exit 9"); code != 1 {
		t.Errorf("a task that exits with 9 ends with %d: %s", code, errs)
	}
	if _, errs, code := subagent(h, "spawn", "--wait", "--timeout", "1s", "--", "exec sleep 100"); code != 3 {
		t.Errorf("a task that takes too long ends with %d: %s", code, errs)
	}
	if _, errs, code := subagent(h, "spawn", "--wait", "--context", "/etc", "--", "cat /etc/shadow"); code != 5 || !strings.Contains(errs, "/etc") {
		t.Errorf("asking for /etc ends with %d: %s", code, errs)
	}
	out, _, code = subagent(h, "spawn", "--id", "long", "--json", "--", "echo started; exec sleep 100")
	var spawned map[string]any
	if code != 0 || json.Unmarshal([]byte(out), &spawned) != nil || spawned["subagent_id"] != "long" {
		t.Errorf("spawn --json: %d, %q", code, out)
	}
	h.Eventually("logs show the output", func() bool {
		out, _, _ := subagent(h, "logs", "long")
		return strings.Contains(out, "started")
	})
	if out, _, _ := subagent(h, "list"); !strings.Contains(out, "long") || !strings.Contains(out, "running") {
		t.Errorf("list shows %q", out)
	}
	if _, errs, code := subagent(h, "cancel", "--wait", "long"); code != 0 {
		t.Errorf("cancel --wait ends with %d: %s", code, errs)
	}
	h.Must(h.Signal(syscall.SIGTERM))
	if _, errs, code := subagent(h, "spawn", "--", "echo"); code != 6 || !strings.Contains(errs, "watcher") {
		t.Errorf("with nobody serving it ends with %d: %s", code, errs)
	}
}
