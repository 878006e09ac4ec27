package e2e

import (
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestATreeEndsAcrossAKill (O56): the watcher is killed, and the parent cancelled before another one comes. A command of the operator's
// then shows who ended with whom.
func TestATreeEndsAcrossAKill(t *testing.T) { house.Together(t, house.Each, aTreeEndsAcrossAKill) }

func aTreeEndsAcrossAKill(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	var tree []house.Ask
	for _, a := range []house.Ask{{ID: "top"}, {ID: "kid", Parent: "top"}, {ID: "grandkid", Parent: "kid"}} {
		a.Task = "echo ready; exec sleep 1000"
		a = h.Submit(a)
		h.Says(a, "ready")
		tree = append(tree, a)
	}
	h.Signal(syscall.SIGKILL)
	h.Touch("cancel_top")
	h.Start()
	h.Want(h.Response(tree[0]), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	for _, a := range tree[1:] {
		h.Want(h.Response(a), delegation.StatusCancelled, delegation.ReasonParentEnded, -1)
		shown, err := h.Client.Run(h.Context(), "main/"+a.ID)
		h.Must(err)
		if shown.Parent != a.Parent || shown.ParentRun == "" {
			t.Errorf("%s is shown below %q, %q", a.ID, shown.Parent, shown.ParentRun)
		}
	}
	h.Eventually("no sandbox is left", func() bool { return len(h.Sandboxes()) == 0 })
}
