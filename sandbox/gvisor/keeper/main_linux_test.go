package keeper

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// asRuntime makes the test program a runtime; with a box it is a keeper. So both are as real as processes are.
const asRuntime = "runsc-stand-in"

// TestMain sees that no goroutine outlives the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asRuntime {
		exit(standIn(os.Args[2:]))
	}
	if len(os.Args) == 2 && os.Args[1] != "" && os.Args[1][0] == '/' { // a box: no flag of a test begins so
		exit(Main(os.Args))
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// exit leaves without the second that the race detector takes, where no environment can tell it not to. What it has found is
// in the keeper's log by then.
func exit(code int) { unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(code), 0, 0) }
