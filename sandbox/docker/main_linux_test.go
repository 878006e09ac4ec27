package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// TestMain sees that no goroutine outlives the tests: the launcher waits for each goroutine that it starts.
func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if init, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(init))
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
