package machine

import (
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

// need is the workshop. It is skipped loudly unless CI=true, which `make night` says too: what it takes is more than git, make and
// Go, and minutes of two processors.
func need(t *testing.T) *Workshop {
	t.Helper()
	if testing.Short() || os.Getenv("CI") != "true" {
		t.Skip("NOT SHOWN HERE: control groups of version 2: `make night` has emulated machines")
	}
	opened = true
	w, err := workshop()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// passes runs tests on a machine, and each of them has to be there, and to pass.
func passes(t *testing.T, tests ...string) {
	t.Helper()
	passesOn(t, need(t), tests...)
}

func passesOn(t *testing.T, w *Workshop, tests ...string) {
	t.Helper()
	results, console := w.Run(t, tests...)
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
	m.boot = 200 * time.Millisecond // its emulator uses nearly nothing, so ten times as much by the clock
	if stood := m.wait(); !strings.Contains(stood, "CPU#1") || !strings.Contains(stood, "EIP=0000fff0") {
		t.Errorf("it stood still, and its emulator said %q", stood)
	}
	if results, err := m.reported(); len(results) > 0 || err != nil {
		t.Errorf("it reported %+v, %v", results, err)
	}
}

// TestControlGroups has one machine for all that needs its control groups: to start another one, and to have it translate the same programs
// again, takes more than most of the tests. The clock is set when nothing comes after it.
func TestControlGroups(t *testing.T) {
	passes(t, "TestTheMachine", "TestGroupsOfRoot", "TestGroupsInAContainer", "TestGroupsDelegated", "TestGroupsNotDelegated",
		"TestLauncherOfRoot", "TestWatcherOfRoot", "TestWatcherDelegatedBySystem", "TestWatcherDelegatedByUser", "TestWatcherElsewhere",
		"TestCommands", "TestCommandsWithoutDelegation", "TestTheClockIsSet")
}

// TestSocketsOfOthers has a kernel whose Landlock knows sockets.
func TestSocketsOfOthers(t *testing.T) {
	w, err := need(t).Newer()
	if err != nil {
		t.Fatal(err)
	}
	passesOn(t, w, "TestSocketsOfOthers")
}
