//go:build linux

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// tight is a profile whose workspaces hold little; the default one of the house is the oracle, whose hold a lot.
const tight = `
  tight:
    limits: {workspace: 32MiB, workspace_files: 300, memory: 256MiB}
    timeout: {default: 60s, min: 1s, max: 5m}
`

// patient keeps a child that has written its fill, so that it does not end by itself.
const patient = "\nwhile test ! -e done; do sleep 0.02; done"

// fillings are ways to fill a workspace with 48 MiB, or with 400 files.
var fillings = map[string]struct{ row, task string }{
	"one file":             {"X7", "head -c 50331648 /dev/zero >big"},
	"many files":           {"X7", "for i in $(seq 48); do head -c 1048576 /dev/zero >f$i; done"},
	"deep below":           {"X7", "d=$(printf 'd/%.0s' $(seq 60)); mkdir -p $d; head -c 50331648 /dev/zero >${d}big"},
	"behind a closed door": {"X7", "mkdir d; head -c 50331648 /dev/zero >d/big; chmod 0 d"},
	"between holes":        {"X7", "truncate -s 100M big; dd if=/dev/zero of=big bs=1M seek=10 count=48 conv=notrunc 2>/dev/null"},
	"small files":          {"X8", "mkdir a; for i in $(seq 400); do : >a/$i; done"},
	"directories":          {"X8", "mkdir $(seq 400)"},
	"one below the other":  {"X8", "mkdir -p $(printf 'd/%.0s' $(seq 400))"},
	"many names of one":    {"X8", ": >f; python3 -c 'import os; [os.link(\"f\", f\"l{i}\") for i in range(400)]'"},
	"links to nowhere":     {"X8", "python3 -c 'import os; [os.symlink(\"x\", f\"l{i}\") for i in range(400)]'"},
}

// TestAFullWorkspaceEndsTheRun fills workspaces in every way, with a limit and, as the oracle, with a wide one.
func TestAFullWorkspaceEndsTheRun(t *testing.T) {
	h := house.New(t, house.Plan{MaxRunning: 2 * len(fillings), Profiles: tight, Offers: ", tight"})
	bounded, wide := map[string]house.Ask{}, map[string]house.Ask{}
	for name, filling := range fillings {
		id := strings.ReplaceAll(name, " ", "-")
		task := filling.task + "; touch full" + patient
		bounded[name] = h.Submit(house.Ask{ID: id, Profile: "tight", UID: 1000, Timeout: 240, Task: task})
		wide[name] = h.Submit(house.Ask{ID: "wide-" + id, UID: 1000, Timeout: 240, Task: task})
	}
	trials := map[string]*attack.Trial{"X7": {Row: "X7", Oracle: true}, "X8": {Row: "X8", Oracle: true}}
	for name, filling := range fillings {
		trial := trials[filling.row]
		trial.Tried++
		if endedByItsWorkspace(h, bounded[name]) {
			trial.Held++
		}
		if !fillsFreely(h, wide[name]) {
			trial.Oracle = false
		}
	}
	for _, trial := range trials {
		trial.Where = "docker by handle"
		attack.Record(t, *trial)
	}
}

func endedByItsWorkspace(h *house.House, a house.Ask) bool {
	h.Helper()
	resp := h.Response(a)
	if resp.Reason == delegation.ReasonWorkspaceLimit && resp.Status == delegation.StatusError &&
		resp.Error != nil && resp.Error.Code == delegation.CodeWorkspaceLimit && strings.Contains(resp.StderrTail, "limit") {
		return true
	}
	h.Errorf("%s: it ended as %s (%s)", a.ID, resp.Reason, resp.StderrTail)
	return false
}

// fillsFreely lets a child end that has filled its workspace and was not ended for it.
func fillsFreely(h *house.House, a house.Ask) bool {
	h.Helper()
	h.Eventually(a.ID+" has filled its workspace", func() bool { _, err := os.Stat(filepath.Join(a.Workspace, "full")); return err == nil })
	h.Must(os.WriteFile(filepath.Join(a.Workspace, "done"), nil, 0o644))
	resp := h.Response(a)
	if resp.Reason != delegation.ReasonExited {
		h.Errorf("%s: without a limit it ended as %s (%s)", a.ID, resp.Reason, resp.StderrTail)
	}
	return resp.Reason == delegation.ReasonExited
}

// TestWhatOnlyLooksBigDoesNotEndARun: holes and further names hold nothing.
func TestWhatOnlyLooksBigDoesNotEndARun(t *testing.T) {
	h := house.New(t, house.Plan{Profiles: tight, Offers: ", tight"})
	resp := h.Run(house.Ask{ID: "s1", Profile: "tight", UID: 1000, Task: `
		truncate -s 900M sparse; head -c 20971520 /dev/zero >big; for i in $(seq 50); do ln big name$i; done; sleep 2; echo fine`})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestTheOvershootIsBounded has a child write as fast as it can, and sees how much too much it wrote.
func TestTheOvershootIsBounded(t *testing.T) {
	h := house.New(t, house.Plan{Profiles: tight, Offers: ", tight"})
	begin := time.Now()
	a := h.Submit(house.Ask{ID: "s1", Profile: "tight", UID: 1000, Timeout: 240, Task: "i=0; while test $i -lt 60; do head -c 33554432 /dev/zero >f$i; i=$((i+1)); done" + patient})
	resp := h.Response(a)
	h.Want(resp, delegation.StatusError, delegation.ReasonWorkspaceLimit, -1)
	held := allocated(h, a.Workspace)
	t.Logf("of 32 MiB allowed it wrote %d MiB; the answer came %s after the request", held>>20, time.Since(begin).Round(time.Millisecond))
	if held > 1<<30 {
		t.Errorf("it wrote %d MiB", held>>20)
	}
}

// allocated is what a directory holds.
func allocated(h *house.House, dir string) (bytes int64) {
	h.Must(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		bytes += st.Blocks * 512
		return err
	}))
	return bytes
}

// small mounts a file system of a size for workspaces.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("torno-test", dir, "tmpfs", 0, "size="+size+",nr_inodes=5000,mode=755"); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// freeAt is how many bytes are free at a directory.
func freeAt(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Frsize
}

const roomy = `
  roomy:
    limits: {workspace: 16GiB, memory: 2GiB}
    timeout: {default: 60s, min: 1s, max: 5m}
`

// filler writes until it is stopped.
const filler = "i=0; while head -c 8388608 /dev/zero >f$i; do i=$((i+1)); done" + patient

// TestNoRunCrossesTheFloor has one child fill a disk on which another one writes a little, and is not harmed.
func TestNoRunCrossesTheFloor(t *testing.T) {
	disk := small(t, "768m")
	const floor = 256 << 20
	h := house.New(t, house.Plan{
		Profiles: roomy, Offers: ", roomy", Allow: []string{disk}, Top: "disk: {floor: 256MiB, floor_files: 200}",
	})
	on := func(id, request, task string) house.Ask {
		dir := h.Mkdir(filepath.Join(disk, id))
		h.Must(os.Chown(dir, 1000, 1000))
		return h.Submit(house.Ask{ID: id, Request: request, Profile: "roomy", Workspace: dir, Timeout: 240, Task: task})
	}
	modest := on("modest", "r1", "head -c 1048576 /dev/zero >f; echo up"+patient)
	h.Says(modest, "up")
	hog := on("hog", "r1", filler)
	trial := attack.Trial{Row: "X7", Where: "docker, the floor", Tried: 2, Oracle: fillsUp(t)}
	if resp := h.Response(hog); resp.Reason == delegation.ReasonWorkspaceLimit && resp.Error != nil && resp.Error.Code == delegation.CodeDiskFull {
		left := freeAt(t, disk)
		trial.Note = fmt.Sprintf("%d KiB below the floor", (floor-left)>>10)
		if left > floor/2 {
			trial.Held++
		}
	}
	if resp := h.Response(on("late", "r1", "true")); resp.Reason == delegation.ReasonRefused && resp.Error.Code == delegation.CodeDiskFull {
		trial.Held++
	}
	attack.Record(t, trial)
	h.Eventually("clients are told", func() bool {
		beat, err := delegation.DecodeHeartbeat([]byte(h.Read(h.Path(delegation.HeartbeatName))))
		h.Must(err)
		return len(beat.Notices) == 1 && beat.Notices[0].Code == delegation.NoticeDisk
	})
	h.Must(os.RemoveAll(hog.Workspace))
	h.Must(os.WriteFile(filepath.Join(modest.Workspace, "done"), nil, 0o644))
	h.Want(h.Response(modest), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Want(h.Response(on("late", "r2", "true")), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// fillsUp says whether the same child fills a disk to the last block where there is no floor to speak of.
func fillsUp(t *testing.T) bool {
	disk := small(t, "64m")
	h := house.New(t, house.Plan{Profiles: roomy, Offers: ", roomy", Allow: []string{disk}, Top: "disk: {floor: 1MiB, floor_files: 1}"})
	dir := h.Mkdir(filepath.Join(disk, "w"))
	h.Must(os.Chown(dir, 1000, 1000))
	a := h.Submit(house.Ask{ID: "hog", Profile: "roomy", Workspace: dir, Timeout: 240, Task: filler})
	full := false
	h.Eventually("the disk is full", func() bool {
		full = full || freeAt(t, disk) < 8<<20
		_, err := os.Stat(h.Path("response_hog.json"))
		return full || err == nil
	})
	h.Response(a)
	return full
}

// TestWhatAChildLeavesIsSaid makes one of each kind, and plants what a child cannot make.
func TestWhatAChildLeavesIsSaid(t *testing.T) {
	h := house.New(t, house.Plan{})
	dir := h.Mkdir(filepath.Join(h.Outbox, "workspaces", "s1"))
	h.Must(os.Chown(dir, 1000, 1000))
	tool := filepath.Join(dir, "tool")
	h.Must(os.WriteFile(tool, nil, 0o755))
	h.Must(os.Chown(tool, 1000, 1000)) // as if the child had made it; what belongs to others stays
	h.Must(os.Chmod(tool, 0o755|os.ModeSetuid))
	left := map[string][]string{"L1": {"tool"}, "L2": {"pipe", "sock", "a\x1b[31mb"}, "L3": {"out", "up"}}
	if unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil {
		left["L2"] = append(left["L2"], "null")
	}
	resp := h.Run(house.Ask{ID: "s1", Workspace: dir, Task: `
		mkfifo pipe; ln -s /etc/passwd out; ln -s ../../x up; ln -s tool in; mkfifo "$(printf 'a\033[31mb')"
		python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'`})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	for row, names := range left {
		trial := attack.Trial{Row: row, Where: "docker by handle", Tried: len(names), Oracle: true}
		for _, name := range names {
			if slices.ContainsFunc(resp.Warnings, func(w string) bool { return strings.Contains(w, strconv.QuoteToASCII(name)) }) {
				trial.Held++
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				trial.Oracle = false // nothing was there to be told of
			}
		}
		attack.Record(t, trial)
	}
	if info, err := os.Stat(tool); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("the set-id bit is still there: %v, %v", info.Mode(), err)
	}
	if t.Failed() {
		t.Logf("it says %q", resp.Warnings)
	}
}
