package control

import (
	"os"
	"strings"
	"testing"
)

// TestAReloadIsNotAwaitedForEver: the watcher is gone, and its number is another process's now.
func TestAReloadIsNotAwaitedForEver(t *testing.T) {
	pauses := 0
	c := Dial(t.TempDir())
	_, err := c.awaitReload(t.Context(), Reload{Number: 1, PID: os.Getpid()}, func(string) {}, func() error { pauses++; return nil })
	if err == nil || !strings.Contains(err.Error(), "has not answered for a minute") || pauses != mostSilence {
		t.Errorf("behind %d pauses: %v", pauses, err)
	}
}
