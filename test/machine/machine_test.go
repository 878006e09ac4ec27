package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// workshop is opened by the first test that needs it.
var workshop = sync.OnceValues(Open)

func TestMain(m *testing.M) {
	code := m.Run()
	if opened {
		if w, err := workshop(); err == nil {
			if err := w.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

var opened bool

// need is the workshop. Where there can be none the test is skipped loudly, and fails in CI.
func need(t *testing.T) *Workshop {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves emulated machines out")
	}
	opened = true
	w, err := workshop()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		t.Skip("NOT SHOWN HERE: control groups of version 2:", err)
	default:
		t.Fatal(err)
	}
	return w
}

// passes runs tests on a machine, and each of them has to be there, and to pass.
func passes(t *testing.T, tests ...string) {
	t.Helper()
	results, console := need(t).Run(t, tests...)
	for i, name := range tests {
		t.Run(name, func(t *testing.T) {
			if i >= len(results) {
				t.Fatalf("it was not run\n%s", console)
			}
			r := results[i]
			t.Logf("it took %s", r.Took)
			if r.Test != name || r.Exit != 0 || r.Error != "" || !strings.Contains(r.Output, "--- PASS: "+name+" ") {
				t.Errorf("%s ended with %d (%s)\n%s", r.Test, r.Exit, r.Error, r.Output)
			}
		})
	}
}

// TestAMachineThatStandsStill: one whose processors never begin is ended, and its emulator says where they are.
func TestAMachineThatStandsStill(t *testing.T) {
	m := need(t).start(t, []string{"TestTheMachine"}, "-S")
	m.boot = 2 * time.Second
	if stood := m.wait(); !strings.Contains(stood, "CPU#1") || !strings.Contains(stood, "EIP=0000fff0") {
		t.Errorf("it stood still, and its emulator said %q", stood)
	}
	if results, err := m.reported(); len(results) > 0 || err != nil {
		t.Errorf("it reported %+v, %v", results, err)
	}
}

func TestGroups(t *testing.T) {
	passes(t, "TestTheMachine", "TestGroupsOfRoot", "TestGroupsInAContainer", "TestGroupsDelegated", "TestGroupsNotDelegated")
}

func TestLauncher(t *testing.T) { passes(t, "TestLauncherOfRoot") }

func TestWatcherOfRoot(t *testing.T) { passes(t, "TestWatcherOfRoot", "TestTheClockIsSet") }

func TestWatcherDelegated(t *testing.T) {
	passes(t, "TestWatcherDelegatedBySystem", "TestWatcherDelegatedByUser", "TestWatcherElsewhere")
}

func TestCommands(t *testing.T) { passes(t, "TestCommands", "TestCommandsWithoutDelegation") }
