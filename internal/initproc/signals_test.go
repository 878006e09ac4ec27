//go:build linux

package initproc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPending(t *testing.T) {
	signals := make(chan os.Signal, 2)
	if sig, ok := pending(signals); ok {
		t.Errorf("%v has not come", sig)
	}
	signals <- unix.SIGTERM
	if sig, ok := pending(signals); !ok || sig != unix.SIGTERM {
		t.Errorf("%v, %v", sig, ok)
	}
}

func TestExitCode(t *testing.T) {
	for status, want := range map[unix.WaitStatus]int{0: 0, 7 << 8: 7, 255 << 8: 255, 9: 137, 15: 143, 11 | 0x80: 139} {
		if got := exitCode(status); got != want {
			t.Errorf("%#x: %d, want %d", status, got, want)
		}
	}
}
