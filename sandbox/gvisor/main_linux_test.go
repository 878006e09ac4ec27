package gvisor_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"torno/test/prober/verdict"
)

// TestMain sees that no goroutine outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildOnce(); err == nil && os.Getenv(verdict.Programs) == "" {
		os.RemoveAll(dir)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
