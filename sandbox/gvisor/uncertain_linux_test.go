package gvisor_test

import (
	"os"
	"path/filepath"
	"testing"

	"torno/sandbox"
)

// TestARecordThatCannotBeReadHidesNoOther puts a directory in the place of a sandbox's record while no watcher lives. The next one
// starts, lists that sandbox as uncertain, and neither ends it nor gives its slot away. When the record is back, the sandbox is as it was.
func TestARecordThatCannotBeReadHidesNoOther(t *testing.T) {
	y := newYard(t)
	lost, other := y.sleeper(), y.sleeper()
	record := filepath.Join(y.box(lost.ID), "box.json")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	y.crash(y.Launcher)
	move(record, record+".aside")
	if err := os.Mkdir(record, 0o700); err != nil {
		t.Fatal(err)
	}
	y.Launcher = y.launch(y.base, "ours")
	for want, h := range map[sandbox.HandleState]sandbox.Handle{sandbox.HandleUncertain: lost, sandbox.HandleRunning: other} {
		if found, ok := y.listed(h); !ok || found.State != want || found.Exit != nil {
			t.Errorf("%s is %+v, not %s", h.ID, found, want)
		}
	}
	if len(running(t, y.box(lost.ID))) == 0 {
		t.Error("it was ended")
	}
	if fresh := y.create("/bin/true"); fresh.Slot == lost.Slot || fresh.Slot == other.Slot {
		t.Errorf("another sandbox has got slot %d", fresh.Slot)
	}
	y.crash(y.Launcher)
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	move(record+".aside", record)
	y.Launcher = y.launch(y.base, "ours")
	if found, ok := y.listed(lost); !ok || found.State != sandbox.HandleRunning {
		t.Errorf("when its record is back it is %+v", found)
	}
}
