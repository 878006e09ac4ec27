package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// openings returns n openings of one file.
func openings(t *testing.T, n int) (all []*os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	for range n {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		all = append(all, file)
	}
	return all
}

func TestOneHasItAlone(t *testing.T) {
	all := openings(t, 3)
	for i, lock := range []func(*os.File) error{TryShared, TryShared, Try} {
		if err := lock(all[i]); i < 2 && err != nil || i == 2 && !errors.Is(err, ErrHeld) {
			t.Errorf("opening %d: %v", i, err)
		}
	}
	all[0].Close()
	all[1].Close()
	if err := Try(all[2]); err != nil {
		t.Errorf("when the others are gone: %v", err)
	}
}

// TestUnlockEndsAnInheritedLock: another process has the opening, as after a fork.
func TestUnlockEndsAnInheritedLock(t *testing.T) {
	all := openings(t, 2)
	if err := Try(all[0]); err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(all[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	if err := errors.Join(Unlock(all[0]), all[0].Close(), Try(all[1])); err != nil {
		t.Error(err)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := openings(t, 2)
		if err := Try(all[0]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("waited a second"))
		defer cancel()
		if err := Wait(ctx, all[1]); !errors.Is(err, ErrHeld) || !errors.Is(err, context.Cause(ctx)) {
			t.Errorf("a lock that stays held: %v", err)
		}
		time.AfterFunc(time.Second, func() { all[0].Close() })
		if err := Wait(t.Context(), all[1]); err != nil {
			t.Errorf("a lock that becomes free: %v", err)
		}
		if err := Wait(ctx, all[1]); err != nil {
			t.Errorf("a lock of our own: %v", err)
		}
	})
}
