package engine

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/house"
)

// TestTheJournalsDiskIsFull: nothing new is started, nothing that ends is forgotten, and nothing is done twice.
func TestTheJournalsDiskIsFull(t *testing.T) {
	t.Parallel()
	proxy := house.NewProxy(t, house.NeedEngine(t))
	disk := house.NewDisk(t, "16m")
	h := house.New(t, house.Plan{State: disk.Dir + "/state", Host: proxy.Host()})
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	free := disk.Fill()
	var waiting []house.Ask
	for n := range 50 { // the journal takes a few more: what it has is not full
		waiting = append(waiting, h.Submit(house.Ask{ID: fmt.Sprint("waiting", n), Task: "echo late"}))
	}
	told(h, delegation.NoticeJournal)
	letOn(h, running)
	h.Eventually("the child has ended", func() bool { return h.Exists("workspaces/running/answer.txt") })
	patiently(h, proxy, 4)
	free()
	resp := h.Response(running)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	allDone(h, waiting)
	calm(h)
}

// allDone waits until all that waited are done, in whatever order they were let in. Each has as long as one may take.
func allDone(h *house.House, waiting []house.Ask) {
	h.Helper()
	for n := range waiting {
		h.Eventually(fmt.Sprint(n+1, " of those that waited are answered"), func() bool {
			answered := 0
			for _, a := range waiting {
				if h.Exists("response_" + a.ID + ".json") {
					answered++
				}
			}
			return answered > n
		})
	}
	for _, a := range waiting {
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
}

// onADisk is a house whose outbox has a disk of its own, and a run in a workspace elsewhere that waits for a file there.
func onADisk(t *testing.T, size string) (h *house.House, disk house.Disk, a house.Ask) {
	t.Helper()
	t.Parallel()
	house.NeedEngine(t)
	disk = house.NewDisk(t, size)
	dir := t.TempDir()
	h = house.New(t, house.Plan{Outbox: disk.Dir, Allow: []string{dir}})
	h.Must(os.Chmod(dir, 0o755))
	a = h.Submit(house.Ask{ID: "s1", Task: until, Workspace: h.Mkdir(dir + "/w")})
	h.Says(a, "ready")
	return h, disk, a
}

// ends lets the run end, and wants the operator told why its client does not hear of it.
func ends(h *house.House, a house.Ask, why delegation.NoticeCode) {
	h.Helper()
	h.Mkdir(a.Workspace + "/go")
	h.Eventually("the run has ended", func() bool {
		run, err := h.Client.Run(h.Context(), "main/s1")
		h.Must(err)
		return run.State == delegation.StateEnded
	})
	h.Eventually("the operator is told", func() bool {
		status, err := h.Client.Status(h.Context())
		h.Must(err)
		is := func(n delegation.Notice) bool { return n.Code == why }
		return slices.ContainsFunc(status.Outboxes[0].Notices, is)
	})
	if h.Exists("response_s1.json") {
		h.Error("there is a response where nothing can be written")
	}
}

// TestTheOutboxIsFull: the response comes when there is room for it.
func TestTheOutboxIsFull(t *testing.T) {
	h, disk, a := onADisk(t, "1m")
	free := disk.Fill()
	ends(h, a, delegation.NoticeDisk)
	free()
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	calm(h)
}

// TestTheOutboxIsReadOnly: it is not served meanwhile, and what ran is answered when it is again.
func TestTheOutboxIsReadOnly(t *testing.T) {
	h, disk, a := onADisk(t, "16m")
	disk.Remount(unix.MS_RDONLY)
	ends(h, a, delegation.NoticeOutbox)
	disk.Remount(0)
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	calm(h)
}
