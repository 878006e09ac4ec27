package control

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAReloadIsNotAwaitedForEver: the watcher is gone, and its number is another process's now; or it stands still, so that it takes connections
// and answers none.
func TestAReloadIsNotAwaitedForEver(t *testing.T) {
	for name, listens := range map[string]bool{"the watcher is gone": false, "the watcher stands still": true} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "control")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if listens {
				listener, err := net.Listen("unix", filepath.Join(dir, SocketName))
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
			}
			_, err = Dial(dir).awaitReload(t.Context(), Reload{Number: 1, PID: os.Getpid()}, func(string) {}, 100*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "has not answered for 100ms") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
