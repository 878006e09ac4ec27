package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// TestTwoWatchersOfOneOutbox has a second watcher come to an outbox that a first one serves: of another user, or of the same user
// with another runtime directory. No file tells the one of the other. The second says which process holds the outbox, and serves
// its own; when the first is gone, it serves this one too.
func TestTwoWatchersOfOneOutbox(t *testing.T) {
	for name, users := range map[string][2]string{
		"root's on Docker then a user's":                 {house.Docker, house.Ordinary},
		"a user's then root's on gVisor":                 {house.Ordinary, house.GVisor},
		"a user's then one of another runtime directory": {house.Ordinary, house.Ordinary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twoWatchers(t, users[0], users[1])
		})
	}
}

func twoWatchers(t *testing.T, one, other string) {
	house.Need(t, one)
	house.Need(t, other)
	user := house.OwnerWith(house.Ordinary, 0)
	shared := filepath.Join(house.OpenDir(t), "outbox")
	first := house.New(t, house.Plan{Sandbox: one, Outbox: shared, Dirs: []string{shared + "/workspaces"}, Extra: fmt.Sprintf("    owners: [%d]", user), Later: true})
	second := house.New(t, house.Plan{Sandbox: other, Later: true, Extra: fmt.Sprintf(`
  shared:
    dir: %[1]s
    allow: [%[1]s/workspaces]
    owners: [%[2]d]
    profiles: [sh]
`, shared, user)})
	for _, dir := range []string{shared, shared + "/workspaces"} {
		first.Must(os.Chown(dir, user, user))
	}
	for _, h := range []*house.House{first, second} {
		h.Env = []string{"XDG_RUNTIME_DIR=" + h.Mkdir(filepath.Join(h.Dir, "runtime"))}
		h.Start()
	}
	trial := attack.Trial{Row: "H13", Where: one + " and " + other, Tried: 1, Oracle: true} // both have started
	named := fmt.Sprintf(`another watcher serves %s: process %d, \"watcher\"`, shared, first.PID())
	second.Eventually("the second names the holder", func() bool {
		return strings.Contains(strings.ReplaceAll(second.Said(), `\\"`, `\"`), named)
	})
	status, err := second.Client.Status(second.Context())
	second.Must(err)
	for _, box := range status.Outboxes {
		away := slices.ContainsFunc(box.Notices, func(n delegation.Notice) bool { return n.Code == delegation.NoticeOutbox })
		if away != (box.Name == "shared") {
			t.Errorf("the second's operator reads of the outbox %s: %v", box.Name, box.Notices)
		}
	}

	across := second.Beside(shared) // a client sees no watcher
	ran := across.Submit(house.Ask{ID: "s1", UID: user, Task: "echo began >>ledger; echo ready; while ! test -e go; do sleep 0.02; done; echo one"})
	across.Eventually("it runs", func() bool { _, err := os.Stat(filepath.Join(ran.Workspace, "ledger")); return err == nil })
	second.Want(second.Run(house.Ask{ID: "s1", Task: "echo own"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	across.Touch("workspaces/s1/go")
	across.Want(across.Response(ran), delegation.StatusCompleted, delegation.ReasonExited, 0)
	served := strings.Contains(second.Said(), "the outbox is served again")
	across.Must(os.Remove(across.Path("request_s1.json")))
	across.Eventually("the first has seen that", func() bool { return !across.Exists("status_s1.json") })

	if err := first.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	second.Eventually("the second serves it", func() bool { return strings.Contains(second.Said(), "everything in the outbox was looked through") })
	taken := across.Run(house.Ask{ID: "s2", UID: user, Task: "echo began >>ledger; echo two"})
	across.Want(taken, delegation.StatusCompleted, delegation.ReasonExited, 0)

	once := true
	for _, id := range []string{"s1", "s2"} {
		once = once && across.Read(filepath.Join(shared, "workspaces", id, "ledger")) == "began\n"
	}
	starts := [2]int{len(first.Starts()), len(second.Starts())}
	if served || !once || starts != [2]int{1, 2} {
		t.Errorf("the second served beside the first: %t; each ran once: %t; sandboxes were started: %v", served, once, starts)
	} else {
		trial.Held++
	}
	attack.Record(t, trial)
}
