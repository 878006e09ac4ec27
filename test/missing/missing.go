// Package missing is for tests that need what not every machine has: root, a mount, a control group.
package missing

import (
	"os"
	"testing"
)

// Skip skips a test and says what it needs and did not find. With CI=true it fails the test: there everything must be shown.
func Skip(t testing.TB, needs ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(append([]any{"CI has what this needs: "}, needs...)...)
	}
	t.Skip(append([]any{"NOT SHOWN HERE: "}, needs...)...)
}
