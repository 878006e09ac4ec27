// Package wait says how long tests wait for what must come:
//
//	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
//
// It imports nothing of Torno, so that tests of every package can use it.
package wait

import "time"

// Patience bounds every wait of a test. No test needs it, also where ten others share the processor: what takes longer
// is broken, not slow.
const Patience = 2 * time.Minute
