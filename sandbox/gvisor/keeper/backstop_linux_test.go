package keeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	tests "torno/test/wait"
)

// TestAKeeperEndsASandboxWhoseTimeIsOver: no watcher is there to end it, and init itself does not.
func TestAKeeperEndsASandboxWhoseTimeIsOver(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{
		Argv: standInArgv("run", `trap "" INT TERM; while :; do sleep 300; done`), Log: 1 << 20,
		Allowed: time.Millisecond, Grace: time.Millisecond,
	})
	if err := start(t, box).Close(); err != nil { // the watcher dies
		t.Fatal(err)
	}
	end := endOf(t, box)
	if end.Signal != int(unix.SIGKILL) {
		t.Errorf("%+v", end)
	}
	if passed, known := end.FinishedIn.Since(); !known || passed < 0 || passed > tests.Patience {
		t.Errorf("it ended %+v, which was %s ago", end.FinishedIn, passed)
	}
}

// TestAKeeperGivesTimeAndGrace: where only one of the two is over, the sandbox lives, and answers as often as it is asked.
func TestAKeeperGivesTimeAndGrace(t *testing.T) {
	for name, order := range map[string]Order{
		"its time is over": {Allowed: time.Millisecond, Grace: time.Hour},
		"no time is over":  {Allowed: time.Hour, Grace: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			order.Argv, order.Stdin, order.Log = standInArgv("run", `while read word; do echo $word; done`), true, 1<<20
			box := boxIn(t, t.TempDir(), order)
			line := start(t, box)
			for n := range 500 { // many times a millisecond
				err := line.Input([]byte("word\n"))
				out, readErr := line.Read(t.Context())
				if err = errors.Join(err, readErr); err != nil || string(out.Bytes) != "word\n" {
					t.Fatalf("the answer to the question %d: %q, %v", n, out.Bytes, err)
				}
			}
			if err := line.Shut(); err != nil {
				t.Fatal(err)
			}
			if end := endOf(t, box); end.Signal != 0 || end.Code != 0 {
				t.Errorf("it ended with %+v", end)
			}
		})
	}
}

func endOf(t *testing.T, box Box) End {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tests.Patience)
	defer cancel()
	end, err := box.AwaitEnd(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return end
}
