package serve

import (
	"errors"
	"testing"
	"testing/synctest"

	"torno/internal/lock"
)

// TestALockIsTakenBehindAProcessThatEnds, and not where its holder stays.
func TestALockIsTakenBehindAProcessThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for ends, taken := range map[int]bool{1: true, maxLockTries - 1: true, maxLockTries: false} {
			tries := 0
			_, err := acquireLock(t.Context(), func() (*lock.Lock, error) {
				if tries++; tries > ends {
					return nil, nil
				}
				return nil, &lock.HeldError{Dir: "/state"}
			})
			if (err == nil) != taken {
				t.Errorf("with a holder for %d tries: %v", ends, err)
			}
		}
		broken, tries := errors.New("broken"), 0
		if _, err := acquireLock(t.Context(), func() (*lock.Lock, error) { tries++; return nil, broken }); !errors.Is(err, broken) || tries != 1 {
			t.Errorf("%d tries of a lock that cannot be taken: %v", tries, err)
		}
	})
}
