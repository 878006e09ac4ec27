//go:build linux

package racer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// lay makes a lane's directories, each with a file that says whose it is.
func (l lane) lay(t *testing.T, dir, says string, owner int) {
	t.Helper()
	for _, place := range l.places() {
		place = filepath.Join(dir, place)
		must(t, os.MkdirAll(place, 0o755))
		must(t, os.Chown(place, owner, owner))
		must(t, os.WriteFile(filepath.Join(place, "canary"), []byte(says), 0o644))
	}
}

// places are the directories that a request of the lane names.
func (l lane) places() []string {
	all := []string{l.workspace, l.context}
	if l.inner != "" {
		all = append(all, l.inner)
	}
	return all
}

// raced says whether requests met both: the directory in its place, and the link.
func (l lane) raced(got tally) bool { return got.served > 0 && (got.refused > 0 || l.unseen) }

// run has requests served until the time is over.
func (l lane) run(h *house.House, dir string, number int, end time.Time) (got tally) {
	workspace, context := filepath.Join(dir, l.workspace), []string{filepath.Join(dir, l.context)}
	if l.inner != "" {
		context = append(context, filepath.Join(dir, l.inner))
	}
	task := "cat canary " + strings.Join(context, "/canary ") + "/canary; echo x >>written"
	all := strings.Repeat(mine, len(context)+1)
	for i := 0; time.Now().Before(end) || !l.raced(got); i++ {
		if time.Now().After(end.Add(chance)) {
			return got
		}
		resp := h.Run(house.Ask{
			ID: fmt.Sprintf("lane%d-%d", number, i), Workspace: workspace, Context: context, Task: task,
		})
		switch {
		case resp.Status == delegation.StatusCompleted && resp.StdoutTail == all:
			got.served++
		case l.nested() && strings.HasPrefix(all, resp.StdoutTail) && resp.Reason == delegation.ReasonExited:
			got.refused++ // the parent has moved the inner mount inside the outer one: the child has less
		case resp.Reason == delegation.ReasonRefused, resp.Reason == delegation.ReasonLaunchFailed:
			got.refused++
		default:
			h.Errorf("%s: a child saw something else: %+v", l.name, resp)
			got.fallen++
		}
	}
	return got
}

// nested says whether what is exchanged lies between two mounts.
func (l lane) nested() bool { return strings.HasPrefix(l.swapped, l.context+"/") }

// untouched wants a victim as it was laid.
func (l lane) untouched(t *testing.T, dir string) {
	t.Helper()
	for _, place := range l.places() {
		entries, err := os.ReadDir(filepath.Join(dir, place))
		must(t, err)
		entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() }) // another place is in it
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
