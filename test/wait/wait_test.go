package wait

import (
	"strings"
	"testing"
)

// ended is a test that notes how it was ended.
type ended struct {
	testing.TB
	said string
}

func (e *ended) Helper() {}

func (e *ended) Fatalf(_ string, args ...any) {
	for _, arg := range args {
		e.said += arg.(string)
	}
	panic(e)
}

// TestWhatNeverComesIsToldWithEvidence: what was waited for, and where the goroutines were.
func TestWhatNeverComesIsToldWithEvidence(t *testing.T) {
	e := &ended{TB: t}
	func() {
		defer func() { _ = recover() }()
		Within(e, 0, "the sky falls", func() bool { return false })
	}()
	for _, want := range []string{"the sky falls", "TestWhatNeverComesIsToldWithEvidence", "/proc/loadavg"} {
		if !strings.Contains(e.said, want) {
			t.Errorf("it does not say %q:\n%s", want, e.said)
		}
	}
}
