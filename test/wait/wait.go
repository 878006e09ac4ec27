// Package wait waits, in tests, for what must come:
//
//	wait.Until(t, "the child is gone", func() bool { return !running(pid) })
//	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
//
// It imports nothing of Torno, so that tests of every package can use it.
package wait

import (
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait of a test. No test needs it, also where ten others share the processor: what takes longer
// is broken, not slow.
const Patience = 2 * time.Minute

// Patient returns a bound, or TORNO_TEST_PATIENCE where that is longer: a machine that is emulated has all the time that its host has.
func Patient(limit time.Duration) time.Duration {
	slow, err := time.ParseDuration(os.Getenv("TORNO_TEST_PATIENCE"))
	if err != nil {
		return limit
	}
	return max(limit, slow)
}

// Until polls a condition until it holds. Where that does not come within Patience, it ends the test with Evidence.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, Patience, what, holds)
}

// Within is Until with a bound of its own.
func Within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patient(limit)); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s\n%s", what, Evidence())
		}
	}
}

// Evidence tells how busy the machine is, and where the goroutines of this process are.
func Evidence() string {
	var text strings.Builder
	for _, file := range []string{"/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory"} {
		if data, err := os.ReadFile(file); err == nil { // elsewhere than on Linux there is none
			text.WriteString(file + ": " + strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "; ") + "\n")
		}
	}
	text.WriteString("goroutines: ")
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1) // a Builder fails never
	return text.String()
}
