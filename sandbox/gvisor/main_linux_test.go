package gvisor_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain sees that no goroutine outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildOnce(); err == nil {
		os.RemoveAll(dir)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
