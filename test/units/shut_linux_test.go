package units

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// held is what a process may do, and what of the machine's it does not see.
type held struct {
	who, can, apart string
}

// look reads it from outside.
func look(h *house.House, pid int) (all held) {
	h.Helper()
	for line := range strings.Lines(h.Read(fmt.Sprintf("/proc/%d/status", pid))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "Uid", "Gid", "NoNewPrivs":
			all.who += name + " " + strings.Join(strings.Fields(value), " ") + "; "
		case "CapEff", "CapPrm":
			all.can += name + " " + strings.TrimSpace(value) + "; "
		}
	}
	var apart []string
	for _, kind := range []string{"ipc", "mnt", "net", "pid", "user", "uts"} {
		if link(h, pid, "ns/"+kind) != link(h, os.Getpid(), "ns/"+kind) {
			apart = append(apart, kind)
		}
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", pid))
	h.Must(err)
	slices.Sort(apart)
	all.apart = fmt.Sprint(apart, " root: ", entries)
	return all
}

func link(h *house.House, pid int, name string) string {
	h.Helper()
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
	h.Must(err)
	return target
}

// processes are what gVisor's are in a service of a unit, by name. In the end the child is cancelled.
func processes(t *testing.T, unit Unit, child string) map[string]held {
	h := open(t, unit, plan(house.GVisor))
	h.Start()
	a := h.Submit(house.Ask{ID: "s1", UID: parent, Task: child})
	h.Says(a, "ready")
	all := map[string]held{}
	for _, name := range []string{house.Sentry, house.Gofer} {
		pids := h.Processes(h.Sandbox().ID, name)
		if len(pids) != 1 {
			t.Fatalf("%d processes are called %s", len(pids), name)
		}
		all[name] = look(h, pids[0])
	}
	h.Must(os.WriteFile(h.Path("cancel_s1"), nil, 0o644))
	h.Want(h.Response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	return all
}

// TestGVisorIsNotWeakerInTheService compares it with one that a watcher without walls has started: what runsc cannot do it
// leaves out, sometimes without a word. A child that minds no signal is killed, by a service that has no capability to kill.
func TestGVisorIsNotWeakerInTheService(t *testing.T) {
	need(t, house.GVisor)
	free, shut := processes(t, Unit{}, "echo ready; sleep 1000"), processes(t, service(t), "trap '' TERM INT; echo ready; while :; do sleep 0.02; done")
	if free[house.Sentry] != shut[house.Sentry] || !strings.Contains(shut[house.Sentry].can, "CapPrm 0000000000000000") {
		t.Errorf("in the service the sentry is %+v, otherwise %+v", shut[house.Sentry], free[house.Sentry])
	}
	if free[house.Gofer].apart != shut[house.Gofer].apart || shut[house.Gofer].apart == shut[house.Sentry].apart {
		t.Errorf("in the service the gofer is %+v, otherwise %+v", shut[house.Gofer], free[house.Gofer])
	}
}
