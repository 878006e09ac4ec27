package main

import (
	"fmt"
	"testing"

	"torno/internal/serve"
	"torno/watcher"
)

// TestAnEndThatLeavesSomethingSaysSo: whichever way a watcher ends while something is owed or left, its exit code says so.
func TestAnEndThatLeavesSomethingSaysSo(t *testing.T) {
	for name, err := range map[string]error{
		"responses are owed":                 &watcher.OwedError{Responses: 1},
		"a call was left behind":             watcher.ErrLeftBehind,
		"killed in the middle of a reload":   serve.ErrBetween,
		"the same, with what went wrong too": fmt.Errorf("open the next host: %w", serve.ErrBetween),
	} {
		if got := diagnose(err); got.Exit != exitOwed || got.Next == "" {
			t.Errorf("%s: exit code %d, next %q", name, got.Exit, got.Next)
		}
	}
}
