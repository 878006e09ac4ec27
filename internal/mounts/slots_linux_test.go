package mounts

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

func TestSlotsAreHandedOutOnce(t *testing.T) {
	w := newWorld(t)
	var taken []*Slot
	for want := 1; want <= 4; want++ {
		slot := w.slot()
		if slot.Number() != want {
			t.Errorf("got slot %d, want %d", slot.Number(), want)
		}
		taken = append(taken, slot)
	}
	if _, err := w.slots.Acquire(); !errors.Is(err, ErrNoSlot) {
		t.Errorf("a fifth slot: %v", err)
	}
	if _, err := w.slots.Adopt(2); !errors.Is(err, ErrSlotInUse) {
		t.Errorf("adopting a slot in use: %v", err)
	}
	w.ok(taken[1].Free())
	w.ok(taken[1].Free()) // again: nothing to do, and not the next one's slot
	again := w.slot()
	w.ok(taken[1].Free())
	if again.Number() != 2 || len(w.inUse()) != 4 {
		t.Errorf("slot %d came back, %d are in use", again.Number(), len(w.inUse()))
	}
}

// Many runs begin and end at once; no number is ever in two hands, and each sees its own.
func TestSlotsInParallel(t *testing.T) {
	w := newWorld(t)
	const runs = 4
	for i := range runs {
		w.dir(fmt.Sprintf("ws%d", i), 1000)
	}
	var held [runs + 1]atomic.Bool
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			for range 10 {
				slot, err := w.slots.Acquire()
				if err != nil || held[slot.Number()].Swap(true) {
					t.Errorf("slot: %v", err)
					return
				}
				rel := fmt.Sprintf("ws%d", i)
				err = w.mount(slot, rel, "p/"+rel, false)
				if _, statErr := os.Stat(filepath.Join(slot.Path(), "view0/p", rel)); err != nil || statErr != nil {
					t.Errorf("mount: %v, %v", err, statErr)
				}
				held[slot.Number()].Store(false)
				if err := slot.Free(); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSlotIsOpenToTheChildAndClosedToOthers(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	w := newWorld(t)
	w.dir("ws", 0)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ws", false), 0, "a/b"))
	for path, want := range map[string]fs.FileMode{
		w.slots.path: 0o700, slot.Path(): 0o755, slot.RunDir(): 0o755, view(t, slot, 0, "."): 0o755, view(t, slot, 0, "a"): 0o755,
	} {
		info, err := os.Stat(path)
		w.ok(err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

func TestSlotsRefuseAForeignDirectory(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.Chown(dir, 1000, 1000))
	if slots, err := OpenSlots(dir, 1, true); err == nil {
		slots.Close()
		t.Error("a directory that another user can change was accepted")
	}
}

// After a restart the same mount is used, for sandboxes hang on to it; at the end it goes.
func TestSlotsFindTheirMountAgain(t *testing.T) {
	w := newWorld(t)
	dir := slotsDir(t, `odd name\with "all"`+"\tof it\n#")
	first, err := OpenSlots(dir, 2, true)
	w.ok(err)
	slot, err := first.Acquire()
	w.ok(err)
	w.ok(first.Close()) // a slot is in use: the mount stays
	if got := len(mountsBelow(t, dir)); got != 1 {
		t.Fatalf("%d mounts at the directory, want 1", got)
	}
	second, err := OpenSlots(dir, 2, true)
	w.ok(err)
	if got := len(mountsBelow(t, dir)); got != 1 || second.mount != first.mount {
		t.Errorf("%d mounts after the second opening, want the one of the first", got)
	}
	if next, err := second.Acquire(); err != nil || next.Number() == slot.Number() {
		t.Errorf("got slot %d (%v), though its directory was left by another life", next.Number(), err)
	}
	w.ok(second.Sweep(nil))
	w.ok(second.used[2].Free())
	w.ok(second.Close())
	if left := mountsBelow(t, dir); len(left) != 0 {
		t.Errorf("mounts are left: %q", left)
	}
}

// What is made for one sandbox goes with the machine, and costs no disk.
func TestSlotsLieInMemory(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	slots, err := OpenSlots(dir, 1, true)
	must(t, err)
	slot, err := slots.Acquire()
	must(t, err)
	var fs unix.Statfs_t
	must(t, unix.Statfs(slot.RunDir(), &fs))
	if fs.Type != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOSUID == 0 || fs.Flags&unix.ST_NODEV == 0 {
		t.Errorf("slots lie in %x, with flags %x", fs.Type, fs.Flags)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may enter: %v, %v", info.Mode(), err)
	}
	must(t, slot.Free(), slots.Close())
	if left := mountsBelow(t, dir); len(left) != 0 {
		t.Errorf("mounts are left: %q", left)
	}
}

// What a life without the right to mount, or an older version, has left on the disk is found.
func TestSlotsThatAreLeftOnTheDisk(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "3", "run"), 0o755), os.WriteFile(filepath.Join(dir, "3", "run", "run.json"), nil, 0o644))
	slots, err := OpenSlots(dir, 4, true)
	must(t, err)
	if left, err := slots.Leftovers(); err != nil || !slices.Equal(left, []int{3}) {
		t.Errorf("left are %v, %v", left, err)
	}
	must(t, slots.Sweep(nil), slots.Close())
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("left on the disk: %v, %v", names, err)
	}
}

// A mount that another program made shared is used, and is not ours to end.
func TestSlotsInAMountOfTheOperators(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	tmpfs(t, dir)
	must(t, unix.Mount("", dir, "", unix.MS_SHARED, ""))
	slots, err := OpenSlots(dir, 1, true)
	must(t, err)
	must(t, slots.Close())
	if got := len(mountsBelow(t, dir)); got != 1 {
		t.Errorf("%d mounts, want the operator's", got)
	}
}

// A private mount of the operator's gets ours on top.
func TestSlotsOnAPrivateMount(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	tmpfs(t, dir)
	w.ok(unix.Mount("", dir, "", unix.MS_PRIVATE, ""))
	for range 2 {
		slots, err := OpenSlots(dir, 1, true)
		w.ok(err)
		if got := len(mountsBelow(t, dir)); got != 2 {
			t.Errorf("%d mounts, want the operator's and ours", got)
		}
		w.ok(slots.Close())
	}
	if got := len(mountsBelow(t, dir)); got != 1 {
		t.Errorf("%d mounts are left, want the operator's", got)
	}
}

func TestSlotsWithoutTheRightToMount(t *testing.T) {
	dir := t.TempDir()
	slots, err := OpenSlots(dir, 1, false)
	must(t, err)
	defer slots.Close()
	slot, err := slots.Acquire()
	must(t, err, os.WriteFile(filepath.Join(slot.RunDir(), "run.json"), nil, 0o644))
	if err := slot.Place(&Detached{Dir: true}, 0, "ws"); err == nil {
		t.Error("a mount was placed")
	}
	must(t, slot.Free())
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("left: %v (%v)", names, err)
	}
	if left := mountsBelow(t, dir); len(left) != 0 {
		t.Errorf("mounts were made: %q", left)
	}
}

// holdSlot is another process: it places two mounts, one in the other, and waits for its end.
func holdSlot(dir string) string {
	bases, err := OpenBases([]string{dir})
	if err != nil {
		return err.Error()
	}
	slots, err := OpenSlots(filepath.Join(dir, "slots"), 4, true)
	if err != nil {
		return err.Error()
	}
	for range 2 {
		slot, err := slots.Acquire()
		for _, rel := range []string{"ctx", "ctx/ws"} {
			if err != nil {
				return err.Error()
			}
			var pin *Pin
			if pin, err = bases.Pin(sandbox.Source{Base: dir, Rel: rel}); err == nil {
				var tree *Detached
				if tree, err = pin.Clone(CloneOptions{}); err == nil {
					err = slot.Place(tree, 0, rel)
				}
			}
		}
		if err != nil {
			return err.Error()
		}
	}
	return "held"
}

func TestAKilledProcessIsSweptUp(t *testing.T) {
	needRoot(t)
	slotsPath := slotsDir(t, "slots")
	dir := filepath.Dir(slotsPath)
	must(t, os.MkdirAll(filepath.Join(dir, "ctx/ws"), 0o755), os.WriteFile(filepath.Join(dir, "ctx/ws/work"), nil, 0o600))
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TORNO_TEST_HOLD_SLOT="+dir)
	_, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err, cmd.Process.Kill())
	cmd.Wait() // killed
	if strings.TrimSpace(line) != "held" {
		t.Fatal(line)
	}

	slots, err := OpenSlots(slotsPath, 4, true)
	must(t, err)
	left, err := slots.Leftovers()
	must(t, err)
	if !slices.Equal(left, []int{1, 2}) {
		t.Fatalf("left over are %v, want 1 and 2", left)
	}
	if got := len(mountsBelow(t, slots.path)); got != 5 {
		t.Fatalf("%d mounts were left, want our own and two in each slot", got)
	}
	must(t, slots.Sweep(map[int]bool{2: true}))
	if got := len(mountsBelow(t, slots.path)); got != 3 {
		t.Errorf("%d mounts after the sweep, want our own and the two of the slot that is kept", got)
	}
	kept, err := slots.Adopt(2)
	must(t, err)
	if _, err := os.Stat(view(t, kept, 0, "ctx/ws/work")); err != nil {
		t.Errorf("the slot that was kept lost its mount: %v", err)
	}
	must(t, kept.Free(), slots.Close())
	if got := mountsBelow(t, slots.path); len(got) != 0 {
		t.Errorf("mounts are left: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ctx/ws/work")); err != nil {
		t.Errorf("the user's file is gone: %v", err)
	}
}
