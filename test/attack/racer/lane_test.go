//go:build linux

package racer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// lay makes a lane's directories, each with a file that says whose it is.
func (l lane) lay(t *testing.T, dir, says string, owner int) {
	t.Helper()
	for _, place := range []string{l.workspace, l.context} {
		place = filepath.Join(dir, place)
		must(t, os.MkdirAll(place, 0o755))
		must(t, os.Chown(place, owner, owner))
		must(t, os.WriteFile(filepath.Join(place, "canary"), []byte(says), 0o644))
	}
}

// raced says whether requests met both: the directory in its place, and the link.
func (l lane) raced(got tally) bool { return got.served > 0 && (got.refused > 0 || l.unseen) }

// run has requests served until the time is over.
func (l lane) run(h *house.House, dir string, number int, end time.Time) (got tally) {
	workspace, context := filepath.Join(dir, l.workspace), filepath.Join(dir, l.context)
	for i := 0; time.Now().Before(end) || !l.raced(got); i++ {
		if time.Now().After(end.Add(house.Patience)) {
			return got
		}
		resp := h.Run(house.Ask{
			ID: fmt.Sprintf("lane%d-%d", number, i), Workspace: workspace, Context: []string{context},
			Task: "cat canary " + context + "/canary; echo x >>written",
		})
		switch {
		case resp.Status == delegation.StatusCompleted && resp.StdoutTail == mine+mine:
			got.served++
		case resp.Reason == delegation.ReasonRefused, resp.Reason == delegation.ReasonLaunchFailed:
			got.refused++
		default:
			h.Errorf("%s: a child saw something else: %+v", l.name, resp)
			got.fallen++
		}
	}
	return got
}

// untouched wants a victim as it was laid.
func (l lane) untouched(t *testing.T, dir string) {
	t.Helper()
	for _, place := range []string{l.workspace, l.context} {
		entries, err := os.ReadDir(filepath.Join(dir, place))
		must(t, err)
		if len(entries) != 1 {
			t.Errorf("%s: something was written into the victim's %s: %v", l.name, place, entries)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
