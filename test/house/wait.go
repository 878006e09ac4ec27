package house

import (
	"time"

	"torno/test/wait"
)

// Patience bounds every wait.
const Patience = wait.Patience

// Eventually polls a condition until it holds.
func (h *House) Eventually(what string, holds func() bool) {
	h.Helper()
	h.Within(Patience, what, holds)
}

// Within is Eventually with a bound of its own.
func (h *House) Within(limit time.Duration, what string, holds func() bool) {
	h.Helper()
	wait.Within(h, limit, what, holds)
}
