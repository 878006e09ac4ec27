package leak

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeavesAGoroutine(t *testing.T) { go func() { select {} }() }
