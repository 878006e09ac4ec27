package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// TestASandboxThatWasReadyHasADoor: a run that reaches a model finds a sandbox ready, which knew of no door when it was made. What it spends is
// counted, and the door goes with it.
func TestASandboxThatWasReadyHasADoor(t *testing.T) {
	for _, sandbox := range house.Launchers {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			up := standin.New(upstreamKey)
			h, _ := houseBefore(t, up, sandbox, "budget: {run: {requests: 3}}", "pool: {size: 1}")
			warm := h.Run(house.Ask{ID: "warm", Profile: "talks", Task: askModel("warm")}) // it opens the shelf for its workspace's place
			h.Want(warm, delegation.StatusCompleted, delegation.ReasonExited, 0)
			before := awaitShelves(h, "talks")
			resp := h.Run(house.Ask{ID: "a", Profile: "talks", Task: askModel("hello")})
			h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			if !strings.Contains(resp.StdoutTail, "You said: hello") {
				t.Errorf("the child printed %q", resp.StdoutTail)
			}
			if m := resp.Usage.Model; m == nil || m.Requests != 1 {
				t.Errorf("its response says that it spent %+v", m)
			}
			if after := awaitShelves(h, "talks"); after != before+1 {
				t.Errorf("%d runs have found a sandbox ready, and before this one %d had", after, before)
			}
			h.Eventually("every door is gone", func() bool {
				doors, err := gatewayOf(h).Doors(h.Context())
				return err == nil && len(doors) == 0
			})
		})
	}
}

// awaitShelves waits until a profile's sandboxes are all ready, and says how many runs have found one so far.
func awaitShelves(h *house.House, profile string) (used int) {
	h.Helper()
	h.Eventually("sandboxes of "+profile+" are ready", func() bool {
		status, err := h.Client.Status(h.Context())
		if err != nil {
			return false
		}
		ready, wanted := 0, 0
		used = 0
		for _, pool := range status.Pools {
			for _, shelf := range pool.Shelves {
				if shelf.Profile == profile {
					ready, wanted, used = ready+shelf.Ready, wanted+shelf.Wanted, used+shelf.Used
				}
			}
		}
		return ready > 0 && ready == wanted
	})
	return used
}

// TestAWatcherWithoutAFileMakesSandboxesAhead, and of its own accord: none before a request, and one after it, which the next run finds.
func TestAWatcherWithoutAFileMakesSandboxesAhead(t *testing.T) {
	for _, sandbox := range house.Launchers {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			house.Need(t, sandbox)
			h := house.New(t, house.Plan{Sandbox: sandbox, Later: true})
			watcher := exec.Command(house.Program("watcher"), "run", "--dir", h.Outbox, "--state", h.State, "--sandbox", sandbox)
			ours, theirs := pipe(t)
			defer ours.Close()
			watcher.Stderr = theirs
			h.Must(watcher.Start())
			t.Cleanup(func() { _ = watcher.Process.Kill() })
			h.Must(theirs.Close())
			lines := bufio.NewReader(ours)
			h.Must(hears(lines, "serving"))
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			status, err := h.Client.Status(h.Context())
			h.Must(err)
			for _, pool := range status.Pools {
				if pool.Off != "" || len(pool.Shelves) > 0 {
					t.Errorf("before any request: %+v", pool)
				}
			}
			h.Want(h.Run(house.Ask{ID: "first", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			before := awaitShelves(h, "default")
			h.Want(h.Run(house.Ask{ID: "second", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			if after := awaitShelves(h, "default"); after != before+1 {
				t.Errorf("%d runs have found a sandbox ready, and before this one %d had", after, before)
			}
			h.Must(watcher.Process.Signal(syscall.SIGTERM))
			h.Must(watcher.Wait())
		})
	}
}
