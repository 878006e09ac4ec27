package sandbox

import (
	"testing"
	"time"

	"torno/internal/approval"
)

// TestTheLongestThatARunMayTake is its time, and the longest pause where its agent asks. A run without a bound has none.
func TestTheLongestThatARunMayTake(t *testing.T) {
	asks := &approval.Policy{Pause: time.Hour}
	for want, s := range map[time.Duration]Spec{time.Minute: {Timeout: time.Minute}, time.Hour + time.Minute: {Timeout: time.Minute, Approvals: asks}, 0: {Approvals: asks}} {
		if got := s.Longest(); got != want {
			t.Errorf("%+v: %v", s, got)
		}
	}
}
