package house

import (
	"os"
	"time"

	"torno/test/wait"
)

// Patience bounds every wait.
const Patience = wait.Patience

// Patient is a bound, or TORNO_TEST_PATIENCE where that is longer: a machine that is emulated has all the time that its host has.
func Patient(limit time.Duration) time.Duration {
	slow, err := time.ParseDuration(os.Getenv("TORNO_TEST_PATIENCE"))
	if err != nil {
		return limit
	}
	return max(limit, slow)
}

// Eventually polls a condition until it holds.
func (h *House) Eventually(what string, holds func() bool) {
	h.Helper()
	h.Within(Patience, what, holds)
}

// Within is Eventually with a bound of its own.
func (h *House) Within(limit time.Duration, what string, holds func() bool) {
	h.Helper()
	for deadline := time.Now().Add(Patient(limit)); !holds(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("it never came true that %s", what)
		}
	}
}
