package outbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// TestTheOutboxIsTakenAway exchanges, one after the other, the directory of the workspaces, the outbox, and a mount with
// another outbox, and removes what is left, while all of it is served.
func TestTheOutboxIsTakenAway(t *testing.T) {
	house.NeedEngine(t)
	disk := diskOf(t)
	h := house.New(t, house.Plan{Extra: fmt.Sprintf("  disk:\n    dir: %[1]s\n    allow: [%[1]s/workspaces]\n    profiles: [sh]", disk)})
	workspacesAreALink(h)
	outboxIsALink(h)
	must(t, unix.Unmount(disk, unix.MNT_DETACH))
	left := untouched(h, disk)
	h.Must(os.RemoveAll(h.Outbox))
	h.Mkdir(h.Outbox)
	left = untouched(h, h.Outbox) && left
	attack.Record(t, attack.Trial{Row: "O24", Where: "docker", Tried: 2, Held: 2 * count(left), Oracle: writesByName(h, h.Outbox)})
}

// diskOf is a file system that can be taken away.
func diskOf(t *testing.T) string {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("NOT SHOWN HERE: nothing can be mounted:", err)
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) }) // where the test got that far, it is gone
	must(t, os.Mkdir(filepath.Join(disk, "workspaces"), 0o755))
	return disk
}

// workspacesAreALink has another directory where the allowed root was, and the old one back.
func workspacesAreALink(h *house.House) {
	h.Helper()
	host, roots := h.Mkdir(filepath.Join(h.Dir, "hosts/s1")), h.Path("workspaces")
	h.Must(os.Rename(roots, roots+".old"))
	h.Must(os.Symlink(filepath.Dir(host), roots))
	ask := house.Ask{ID: "s1", Request: "through the link", Task: "echo fallen >file", Workspace: filepath.Join(roots, "s1")}
	resp := h.Run(ask)
	held := resp.Error != nil && resp.Error.Code == delegation.CodeWorkspace && len(names(h, host)) == 0
	info, err := os.Stat(ask.Workspace)
	attack.Record(h, attack.Trial{Row: "O25", Where: "docker", Tried: 1, Held: count(held), Oracle: err == nil && info.IsDir()})
	h.Must(os.Remove(roots))
	h.Must(os.Rename(roots+".old", roots))
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// outboxIsALink has a directory of the host's where the outbox was.
func outboxIsALink(h *house.House) {
	h.Helper()
	host := h.Mkdir(filepath.Join(h.Dir, "another"))
	h.Must(os.Rename(h.Outbox, h.Outbox+".old"))
	h.Must(os.Symlink(host, h.Outbox))
	held := untouched(h, host)
	attack.Record(h, attack.Trial{Row: "O23", Where: "docker", Tried: 1, Held: count(held), Oracle: writesByName(h, host)})
	h.Must(os.Remove(h.Outbox))
	h.Must(os.Rename(h.Outbox+".old", h.Outbox))
	h.Want(h.Run(house.Ask{ID: "s3", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// untouched asks in a directory that is at the outbox's path and is not the outbox. It is said, and nothing is written or
// run there, not even the heartbeat.
func untouched(h *house.House, dir string) bool {
	h.Helper()
	said := strings.Count(h.Said(), delegation.ErrMoved.Error())
	workspace := h.Mkdir(filepath.Join(dir, "workspaces", "s9"))
	body := fmt.Sprintf(`{"version":1,"subagent_id":"s9","request_id":"r9","task":"echo >ran","workspace":%q,"timeout_seconds":9}`, workspace)
	h.Must(os.WriteFile(filepath.Join(dir, "request_s9.json"), []byte(body), 0o644))
	h.Eventually("it is said that the outbox was moved", func() bool { return strings.Count(h.Said(), delegation.ErrMoved.Error()) > said })
	return len(names(h, dir, workspace)) == 2 // the request and the directory of workspaces, and nothing that ran
}

// writesByName is a watcher that uses its outbox's path.
func writesByName(h *house.House, where string) bool {
	h.Helper()
	h.Must(os.MkdirAll(h.Outbox, 0o755))
	h.Must(os.WriteFile(h.Path("naive.json"), nil, 0o644))
	_, err := os.Lstat(filepath.Join(where, "naive.json"))
	return err == nil
}

func count(held bool) int {
	if held {
		return 1
	}
	return 0
}
