package keeper

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	tests "torno/test/wait"
)

// TestAKeeperEndsASandboxWhoseTimeIsOver: no watcher is there to end it, and init itself does not.
func TestAKeeperEndsASandboxWhoseTimeIsOver(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{
		Argv: standInArgv("run", `trap "" INT TERM; echo up; read word; while :; do sleep 300; done`),
		Word: "go\n", Log: 1 << 20,
		Allowed: 300 * time.Millisecond, Grace: 300 * time.Millisecond,
	})
	line := start(t, box)
	if out, err := line.Read(t.Context()); err != nil || string(out.Bytes) != "up\n" {
		t.Fatalf("%q, %v", out.Bytes, err)
	}
	begin := time.Now() // from now on it may have no processor until its time is over
	if err := line.Release(); err != nil {
		t.Fatal(err)
	}
	if err := line.Close(); err != nil { // the watcher dies
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tests.Patience)
	defer cancel()
	end, err := box.AwaitEnd(ctx)
	if err != nil || end.Signal != int(unix.SIGKILL) {
		t.Fatalf("%+v, %v", end, err)
	}
	// Only its time and its grace together are as long as this. The keeper measures them by other clocks than this test, which can differ a little.
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("it ended after %s, within its time and its grace", took)
	}
	if passed, known := end.FinishedIn.Since(); !known || passed < 0 || passed > tests.Patience {
		t.Errorf("it ended %+v, which was %s ago", end.FinishedIn, passed)
	}
}
