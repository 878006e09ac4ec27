package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"torno/test/house"
	"torno/test/missing"
)

// A container has the outbox under another path than the host, as with -v "$PWD/outbox:/outbox", and nothing else of the
// host. Every command of the client works there without an option.
func TestAnOutboxUnderAnotherPath(t *testing.T) {
	house.Together(t, house.Each, anOutboxUnderAnotherPath)
}

func anOutboxUnderAnotherPath(t *testing.T, sandbox string) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "a root directory of the parent's own; run this as root")
	}
	h := house.New(t, house.Plan{Sandbox: sandbox})
	root := t.TempDir()
	at := filepath.Join(root, "outbox")
	// Another process copies it: a program that is open for writing in a child that this one starts just then cannot be executed.
	h.Must(exec.Command("cp", house.Program("subagent"), filepath.Join(root, "subagent")).Run())
	for target, source := range map[string]string{at: h.Outbox, filepath.Join(root, "proc"): "/proc"} {
		h.Must(os.Mkdir(target, 0o755))
		h.Must(syscall.Mount(source, target, "", syscall.MS_BIND, ""))
		t.Cleanup(func() { h.Must(syscall.Unmount(target, syscall.MNT_DETACH)) })
	}
	inside := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "/subagent", args...)
		command.Env, command.Dir = []string{}, "/"
		command.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		command.Stderr = os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return string(out)
	}
	if got := inside("spawn", "--wait", "--id", "s1", "--", "pwd; echo kept >made"); got != "/workspace\n" {
		t.Errorf("the child answers %q", got)
	}
	if got := h.Read(h.Path("workspaces/s1/made")); string(got) != "kept\n" {
		t.Errorf("what the child made is %q", got)
	}
	inside("spawn", "--id", "s2", "--answer", "out/a.md", "--", `mkdir -p out; echo mine >"$TORNO_ANSWER_FILE"; echo chatter`)
	if got := inside("wait", "s2"); got != "mine\n" {
		t.Errorf("the child answers %q", got)
	}
	nothingIsLeft(h)
}
