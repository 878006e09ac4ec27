package inside

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/house"
)

// setClock sets the clock of this machine, which no other test uses.
func setClock(t *testing.T, forward time.Duration) {
	t.Helper()
	now := unix.NsecToTimeval(time.Now().Add(forward).UnixNano())
	must(t, unix.Settimeofday(&now))
}

// TestTheClockIsSet sets the clock by years, forwards and backwards, under a watcher that lives and between two watchers. No run ends
// for it, none runs on, and none runs twice. No child has to notice anything between two sleeps: on gVisor one was seen to sleep on
// when the clock was put back.
func TestTheClockIsSet(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	service := makeGroup(t, serviceGroup{group: "system.slice/torno-clock.service"})
	h := house.New(t, house.Plan{Sandbox: house.GVisor, Enter: within(t, service)})
	begin, before := time.Now(), time.Now().UTC()
	defer func() { setClock(t, before.Add(time.Since(begin)).Sub(time.Now().UTC().Round(0))) }()
	const timeout = 12 * time.Second
	const forEver = "echo began >>ledger; exec sleep 1000"
	asks := []house.Ask{
		{ID: "long", Task: forEver, Timeout: 290},
		{ID: "short", Task: forEver, Timeout: int(timeout.Seconds())},
		{ID: "cancelled", Task: forEver, Timeout: 290},
	}
	for i, a := range asks {
		asks[i] = h.Submit(a)
	}
	long, short, cancelled := asks[0], asks[1], asks[2]
	runs := func(a house.Ask) bool {
		run, err := h.Client.Run(h.Context(), "main/"+a.ID)
		return err == nil && run.State == delegation.StateRunning
	}
	begun := func(a house.Ask) string {
		ledger, _ := os.ReadFile(filepath.Join(a.Workspace, "ledger"))
		return string(ledger)
	}
	h.Eventually("they run", func() bool { return runs(long) && runs(cancelled) && begun(long)+begun(cancelled) == "began\nbegan\n" })
	setClock(t, years)
	if !runs(long) || !runs(cancelled) {
		t.Error("a clock that was put forward ends runs")
	}
	setClock(t, -2*years)
	h.Touch("cancel_cancelled")
	h.Want(h.Response(cancelled), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	h.Want(h.Response(short), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	if took := time.Since(short.Renamed); took < timeout {
		t.Errorf("a run of %s was ended after %s", timeout, took)
	}
	h.Signal(unix.SIGKILL)
	setClock(t, 2*years)
	h.Start()
	if !runs(long) {
		t.Error("a run of an earlier watcher does not go on")
	}
	h.Touch("cancel_long")
	h.Want(h.Response(long), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if begun(long) != "began\n" || begun(cancelled) != "began\n" {
		t.Errorf("they have written %q and %q", begun(long), begun(cancelled))
	}
	if starts := h.Starts(); len(starts) != len(asks) {
		t.Errorf("%d sandboxes were started for %d runs", len(starts), len(asks))
	}
}
