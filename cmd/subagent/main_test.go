package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The stories run the real main, and beside it host, which plays the watcher's part of an outbox.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"subagent": main, "host": hostMain})
}

func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TORNO_OUTBOX", env.WorkDir+"/outbox")
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector else holds every process for a second
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			_, err := exec.LookPath(name)
			return err == nil, nil
		},
	})
}

// exits runs a program that must end with an exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
