package gvisor_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox/gvisor"
)

// TestNoExec: a state directory whose programs do not run is told of as what it is. Homes are often mounted so.
func TestNoExec(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount what an ordinary user has for a home")
	}
	h := newHouse(t)
	o := h.options(t.TempDir(), "ours")
	defer o.Bases.Close()
	if err := unix.Mount("none", o.StateDir, "tmpfs", unix.MS_NOEXEC, "mode=700"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(o.StateDir, 0); err != nil {
			t.Error(err)
		}
	}()
	l, err := gvisor.New(t.Context(), o)
	if err == nil {
		l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "noexec") || !strings.Contains(err.Error(), o.StateDir) {
		t.Errorf("a launcher there: %v", err)
	}
}
