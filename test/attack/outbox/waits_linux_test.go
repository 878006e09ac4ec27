package outbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// TestNobodyIsOvertaken: one run works in a part of a directory, another one waits for the whole, and a third one asks for the
// part that is free. It would overtake the second one, and so would all that come behind it.
func TestNobodyIsOvertaken(t *testing.T) {
	house.NeedEngine(t)
	h := house.New(t, house.Plan{Extra: "    busy: queue"})
	whole := h.Mkdir(h.Path("workspaces/whole"))
	one, other := h.Mkdir(filepath.Join(whole, "one")), h.Mkdir(filepath.Join(whole, "other"))
	for _, dir := range []string{whole, one, other} {
		owner := h.OwnerOf(0)
		h.Must(os.Chown(dir, owner, owner))
	}
	works := h.Submit(house.Ask{ID: "works", Workspace: one, Task: untilTold})
	state := func(id string) delegation.State {
		run, err := h.Client.Run(t.Context(), "main/"+id)
		if err != nil {
			return ""
		}
		return run.State
	}
	h.Eventually("the first one works", func() bool { return state("works") == delegation.StateRunning })
	waits := h.Submit(house.Ask{ID: "waits", Workspace: whole, Task: "echo >other/passed"})
	h.Eventually("the second one waits", func() bool { return state("waits") == delegation.StateQueued })
	comes := h.Submit(house.Ask{ID: "comes", Workspace: other, Task: "test -e passed && echo behind"})
	h.Eventually("the third one is there", func() bool { return state("comes") != "" })
	free := !strings.HasPrefix(other+"/", one+"/") && !strings.HasPrefix(one+"/", other+"/") // of what works: a careless scheduler starts it
	h.Must(os.WriteFile(filepath.Join(one, "go"), nil, 0o644))
	for _, ask := range []house.Ask{works, waits} {
		h.Want(h.Response(ask), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	resp := h.Response(comes)
	attack.Record(t, attack.Trial{Row: "P21", Where: "docker", Tried: 1, Held: count(resp.StdoutTail == "behind\n"), Oracle: free})
}

// TestAFrozenWatcher is stopped in a storm of events, so that it has something in hand. A watcher that goes by
// the clock takes that time for work, and rests for it.
func TestAFrozenWatcher(t *testing.T) {
	house.NeedEngine(t)
	h := house.New(t, house.Plan{})
	const frozen, soon = 20 * time.Second, 10 * time.Second
	_, stop := rename(h)
	begin := time.Now()
	h.Must(syscall.Kill(h.PID(), syscall.SIGSTOP))
	stop()
	<-time.After(frozen)
	ask := h.Submit(house.Ask{ID: "s1", Task: "true"})
	h.Must(syscall.Kill(h.PID(), syscall.SIGCONT))
	awake := time.Now()
	h.Want(h.Response(ask), delegation.StatusCompleted, delegation.ReasonExited, 0)
	run, err := h.Client.Run(h.Context(), "main/s1")
	h.Must(err)
	deaf := run.Created.Sub(awake) // the run itself takes longer on a busy machine
	charged := awake.Sub(begin)    // by the clock: at half a core, with five seconds for nothing
	t.Logf("frozen for %s, it takes the request after %s", frozen, deaf)
	attack.Record(t, attack.Trial{Row: "O36", Where: "docker", Tried: 1, Held: count(deaf < soon), Oracle: charged-5*time.Second > soon})
}
