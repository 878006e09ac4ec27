package keeper

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	tests "torno/test/wait"
)

// socketIn is a socket that a door can lead to.
func socketIn(t *testing.T) Door {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return Door{Path: name, Device: uint64(st.Dev), Inode: st.Ino, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
}

// TestARunArrivesOnce: its doors lead where it says, from then on and not before, its time counts, and no second run changes either.
func TestARunArrivesOnce(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{
		Argv: standInArgv("run", `trap "" INT TERM; read word; echo up; while :; do sleep 300; done`), Word: "go\n", Log: 1 << 20,
		Ahead: true, Grace: 300 * time.Millisecond, Doors: []Door{{}},
	})
	line, err := box.Start(t.Context(), self(t), apart())
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	door := socketIn(t)
	moved := door
	moved.Inode++
	for what, refused := range map[string]Arrival{"fewer doors": {}, "more doors": {Doors: []Door{door, door}}} {
		if err := box.Bring(t.Context(), refused); err == nil || !strings.Contains(err.Error(), "1 doors") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := box.Bring(t.Context(), Arrival{Doors: []Door{door}, Allowed: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for what, again := range map[string]Arrival{"the same": {Doors: []Door{door}}, "another": {Doors: []Door{moved}, Allowed: time.Hour}} {
		if err := box.Bring(t.Context(), again); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("a second run, %s: %v", what, err)
		}
	}
	if err := line.Release(); err != nil {
		t.Fatal(err)
	}
	if err := line.Close(); err != nil { // the watcher dies, and the keeper ends the sandbox when the run's time is over
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tests.Patience)
	defer cancel()
	if end, err := box.AwaitEnd(ctx); err != nil || end.Signal != int(unix.SIGKILL) {
		t.Errorf("%+v, %v", end, err)
	}
}

// TestNoRunArrivesWhereOneIs: in a sandbox that was made for its run, and in one that was released.
func TestNoRunArrivesWhereOneIs(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "read word; echo up; sleep 300"), Log: 1 << 20, Word: "go\n", Ahead: ahead})
		line, err := box.Start(t.Context(), self(t), apart())
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		if ahead {
			if err := line.Release(); err != nil {
				t.Fatal(err)
			}
			if out, err := line.Read(t.Context()); err != nil || string(out.Bytes) != "up\n" {
				t.Fatalf("%q, %v", out.Bytes, err)
			}
		}
		if err := box.Bring(t.Context(), Arrival{}); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("made ahead, and released: %t; a run came into it: %v", ahead, err)
		}
	}
}

// TestADoorThatLeadsNowhereIsShut until its run comes, and where its socket has been replaced by another one no run comes.
func TestADoorThatLeadsNowhereIsShut(t *testing.T) {
	doors, err := openDoors([]Door{{}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeDoors(doors)
	if fd, err := doors[0].leads.Load().connect(); err == nil {
		unix.Close(fd)
		t.Error("it leads somewhere")
	}
	door := socketIn(t)
	other := door
	other.Inode++
	if err := doors[0].leadTo(other); err == nil {
		t.Error("it leads to a socket that is another than was found")
	}
	if err := doors[0].leadTo(door); err != nil {
		t.Fatal(err)
	}
	fd, err := doors[0].leads.Load().connect()
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}
