package inside

import (
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

// demanding is a profile that serves no request unless control groups bound everything.
const demanding = `
  demanding:
    at_least: [memory, swap, cpu, pids]
    limits: {memory: 128MiB, pids: 64, tmp: 16MiB, home: 16MiB, shm: 16MiB}
    timeout: {default: 60s, min: 1s, max: 5m}
`

func TestWatcherOfRoot(t *testing.T) {
	service := makeGroup(t, serviceGroup{group: "system.slice/torno-watcher.service"})
	watcher(t, house.Plan{Sandbox: house.GVisor, Profiles: demanding, Offers: ", demanding", Enter: within(t, service)})
}

func TestWatcherDelegatedBySystem(t *testing.T) { watcherDelegated(t, "a service of the system") }

func TestWatcherDelegatedByUser(t *testing.T) { watcherDelegated(t, "a service of a user") }

func watcherDelegated(t *testing.T, name string) {
	dir := makeGroup(t, delegatedGroups[name])
	watcher(t, house.Plan{Sandbox: house.Ordinary, Profiles: demanding, Offers: ", demanding", Delegated: dir, Enter: within(t, dir)})
}

// TestWatcherElsewhere: the group of a sandbox goes also if the watcher that removes it has others than the one that made it, as when
// a user starts the next one by another unit.
func TestWatcherElsewhere(t *testing.T) {
	first, second := makeGroup(t, delegatedGroups["a service of a user"]), makeGroup(t, delegatedGroups["a service of the system"])
	begin := within(t, first)
	h := house.New(t, house.Plan{Sandbox: house.Ordinary, Delegated: first, Enter: func(c *exec.Cmd) { begin(c) }})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; exec sleep 1000"})
	h.Says(a, "ready")
	if len(h.Groups("?*")) != 1 {
		t.Fatalf("the oracle is dead: there are the groups %v", h.Groups("*"))
	}
	h.Signal(syscall.SIGKILL)
	h.Strike("", house.Keeper, syscall.SIGKILL)
	begin = within(t, second)
	h.Start()
	h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
	h.Eventually("the group is gone", func() bool { return len(h.Groups("?*")) == 0 })
}

// watchersGroup is where a watcher has moved itself, so that the group which was delegated may have others with limits. A
// process can begin only there afterwards, and is told so by DelegateSubgroup= of the unit.
const watchersGroup = "torno-watcher"

// within has commands begin in a group as a service manager does it.
func within(t *testing.T, dir string) func(*exec.Cmd) {
	return func(command *exec.Cmd) {
		t.Helper()
		at, err := os.Open(filepath.Join(dir, watchersGroup))
		if err != nil {
			at, err = os.Open(dir)
		}
		must(t, err)
		t.Cleanup(func() { at.Close() })
		if command.SysProcAttr == nil {
			command.SysProcAttr = &syscall.SysProcAttr{}
		}
		command.SysProcAttr.UseCgroupFD, command.SysProcAttr.CgroupFD = true, int(at.Fd())
	}
}

// watcher is one house in which all is tried that has to do with groups: each sandbox takes seconds here.
func watcher(t *testing.T, plan house.Plan) {
	h := house.New(t, plan)
	t.Run("a run outlives its watcher, in a group with limits", func(t *testing.T) { outlives(t, h) })
	t.Run("memory ends a run", func(t *testing.T) {
		h.Want(h.Run(house.Ask{ID: "hog", Profile: "demanding", Task: "exec dd if=/dev/zero of=big bs=600M count=1"}), delegation.StatusError, delegation.ReasonOutOfMemory, 137)
	})
	t.Run("something else ends a run", func(t *testing.T) {
		h.Want(h.Run(house.Ask{ID: "dead", Profile: "demanding", Task: "kill -KILL $$"}), delegation.StatusError, delegation.ReasonSignalled, 137)
	})
	h.Eventually("no group of a sandbox is left", func() bool { return len(h.Groups("*")) == 0 })
}

func outlives(t *testing.T, h *house.House) {
	a := h.Submit(house.Ask{ID: "s1", Profile: "demanding", Timeout: 300, Task: "echo ready; while ! test -e go; do sleep 0.1; done; echo done"})
	h.Says(a, "ready")
	groups := h.Groups("?*")
	if len(groups) != 1 {
		t.Fatalf("the sandbox is in the groups %v", groups)
	}
	for name, want := range map[string]string{
		"memory.max": fmt.Sprint((128 + 64) << 20), "memory.swap.max": "0", "pids.max": fmt.Sprint((64+20)*4 + 512), "cpu.max": "max 100000",
	} {
		if is := strings.TrimSpace(h.Read(filepath.Join(groups[0], name))); is != want && name != "cpu.max" || name == "cpu.max" && is == want {
			t.Errorf("%s is %q", name, is)
		}
	}
	sandbox := h.Sandbox().ID
	for name, inside := range map[string]bool{house.Keeper: false, house.Sentry: true, house.Gofer: true} {
		for _, pid := range h.Processes(sandbox, name) {
			if own := h.Read(fmt.Sprintf("/proc/%d/cgroup", pid)); (own == "0::"+strings.TrimPrefix(groups[0], top)+"\n") != inside {
				t.Errorf("%s is in the group %s", name, own)
			}
		}
	}
	h.Signal(syscall.SIGKILL)
	h.Start()
	h.Touch("workspaces/s1/go")
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "ready\ndone\n" {
		t.Errorf("the child printed %q", resp.StdoutTail)
	}
	h.Eventually("the sandbox's group is gone", func() bool { _, err := os.Stat(groups[0]); return os.IsNotExist(err) })
}
