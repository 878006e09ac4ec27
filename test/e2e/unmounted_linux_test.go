package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/house"
	"torno/test/missing"
)

// TestTheOutboxIsNotMounted when the watcher starts: a child of it lives on, nothing is read or written at the mount point, and
// that is said. Once the file system is mounted the same watcher adopts the child, and its parent is answered once.
func TestTheOutboxIsNotMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: only root may mount")
	}
	house.Each(t, func(t *testing.T, sandbox string) {
		house.Need(t, sandbox)
		around := house.OpenDir(t)
		box, real := filepath.Join(around, "outbox"), filepath.Join(around, "real")
		t.Cleanup(func() { unix.Unmount(box, unix.MNT_DETACH) })
		h := house.New(t, house.Plan{Sandbox: sandbox, Outbox: box, Shutdown: "keep", Later: true})
		h.Mkdir(filepath.Join(real, "workspaces"))
		mount := func() {
			if err := unix.Mount(real, box, "", unix.MS_BIND, ""); err != nil {
				missing.Skip(t, "nothing can be mounted here:", err)
			}
		}
		mount()
		h.Start()
		a := h.Submit(house.Ask{ID: "s1", Task: "echo before; while ! test -e go; do sleep 0.02; done; echo after"})
		h.Says(a, "before")
		h.Must(h.Signal(syscall.SIGTERM))
		h.Must(unix.Unmount(box, 0))
		h.Launch()
		h.Eventually("the watcher says that it does not serve the outbox", func() bool {
			status, err := h.Client.Status(h.Context())
			return err == nil && strings.Contains(status.Outboxes[0].Trouble, "watcher outbox accept main")
		})
		if n := len(h.Sandboxes()); n != 1 {
			t.Errorf("%d sandboxes live", n)
		}
		times := func() int { return strings.Count(h.Said(), "the outbox is not served") }
		h.Eventually("it is said", func() bool { return times() > 0 }) // what is logged may come after what is told on a socket
		if n := times(); n != 1 {
			t.Errorf("it is said %d times", n)
		}
		entries, err := os.ReadDir(box)
		h.Must(err)
		if len(entries) != 1 {
			t.Errorf("the mount point holds %v", entries)
		}
		runs, err := h.Client.Run(h.Context(), "main/s1")
		if err != nil || runs.State != delegation.StateRunning {
			t.Errorf("the run is %+v, %v", runs, err)
		}
		mount()
		h.Eventually("the run is adopted", func() bool { return strings.Contains(h.Said(), "adopted a run") })
		h.Touch("workspaces/s1/go")
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if resp.StdoutTail != "before\nafter\n" {
			t.Errorf("it printed %q", resp.StdoutTail)
		}
		for id, starts := range h.Starts() {
			if starts != 1 {
				t.Errorf("sandbox %s was started %d times", id, starts)
			}
		}
		answers, err := filepath.Glob(h.Path("response_*"))
		if h.Must(err); !slices.Equal(answers, []string{h.Path("response_s1.json")}) {
			t.Errorf("the answers are %v", answers)
		}
	})
}
