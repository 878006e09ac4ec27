package house

import (
	"time"
)

// Patience bounds every wait; none of the stories needs it, also where ten others share the processor.
const Patience = 2 * time.Minute

// Eventually polls a condition until it holds.
func (h *House) Eventually(what string, holds func() bool) {
	h.Helper()
	h.Within(Patience, what, holds)
}

// Within is Eventually with a bound of its own.
func (h *House) Within(limit time.Duration, what string, holds func() bool) {
	h.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("it never came true that %s", what)
		}
	}
}
