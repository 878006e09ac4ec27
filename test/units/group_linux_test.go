package units

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/missing"
)

// group is a control group as systemd has one for each service, by which it knows the service's processes.
type group struct{ dir string }

// newGroup is one in the hierarchy that systemd has where it runs: its own, or the only one.
func newGroup(t testing.TB) group {
	t.Helper()
	top := "/sys/fs/cgroup/systemd"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		top = "/sys/fs/cgroup"
	}
	dir, err := os.MkdirTemp(top, "torno-unit-")
	if err != nil {
		missing.Skip(t, "there are no control groups to be had: ", err)
	}
	t.Cleanup(func() { // after the watcher and all that it has started
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return group{dir}
}

func (g group) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// kill does with a service what its KillMode says.
func (g group) kill(h *house.House, mode string) {
	h.Helper()
	others, err := os.ReadFile(g.procs())
	h.Must(err)
	main := h.PID()
	h.Signal(syscall.SIGKILL)
	if mode == "process" {
		return
	}
	for _, word := range bytes.Fields(others) {
		pid, err := strconv.Atoi(string(word))
		h.Must(err)
		if pid != main {
			_ = syscall.Kill(pid, syscall.SIGKILL) // a process may have ended with another one
		}
	}
}

// TestTheServiceIsKilled and started again. Docker's children are not the service's; gVisor's are, and only KillMode keeps them.
func TestTheServiceIsKilled(t *testing.T) {
	for _, c := range []struct {
		sandbox, mode string
		reason        delegation.Reason
	}{
		{house.Docker, service(t).Get("KillMode"), delegation.ReasonExited},
		{house.GVisor, service(t).Get("KillMode"), delegation.ReasonExited},
		{house.Docker, "control-group", delegation.ReasonExited},
		{house.GVisor, "control-group", delegation.ReasonLost},
	} {
		t.Run(c.sandbox+"/"+c.mode, func(t *testing.T) {
			need(t, c.sandbox)
			g := newGroup(t)
			h := open(t, service(t), plan(c.sandbox))
			h.Env = append(h.Env, groupFile+"="+g.procs())
			h.Start()
			a := h.Submit(house.Ask{ID: "s1", UID: parent, Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
			h.Says(a, "ready")
			g.kill(h, c.mode)
			h.Start()
			h.Touch("workspaces/s1/go")
			resp := h.Response(a)
			if resp.Reason != c.reason {
				t.Errorf("the run ended with %s (%q), want %s", resp.Reason, resp.StdoutTail, c.reason)
			}
			if c.reason == delegation.ReasonExited && resp.StdoutTail != "ready\ndone\n" {
				t.Errorf("the child printed %q", resp.StdoutTail)
			}
		})
	}
}
