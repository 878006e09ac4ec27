package delegation

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"torno/test/attack"
)

// TestAttackSecondNameGoes: a file of another user gets a second name in the outbox, which is taken away, or renamed over, in the
// moment in which it is opened. The file has one name then, which lies outside of the outbox.
func TestAttackSecondNameGoes(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "outbox")
	secret, name, spare := filepath.Join(base, "secret"), filepath.Join(dir, "request_s1.json"), filepath.Join(dir, "spare")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(secret, []byte("secret"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	outbox, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer outbox.Close()
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Link(secret, name)
			if n%2 == 0 {
				_ = os.WriteFile(spare, []byte("honest"), 0o600)
				_ = os.Rename(spare, name)
			}
			_ = os.Remove(name)
		}
	})
	tried, got := 0, 0
	for begin := time.Now(); time.Since(begin) < time.Duration(attack.Times(2, 60))*time.Second; tried++ {
		data, _, err := outbox.Read("request_s1.json", 100)
		if err == nil && string(data) == "secret" {
			got++
		}
		if err == nil && string(data) != "secret" && string(data) != "honest" && len(data) > 0 {
			t.Fatalf("it read %q", data)
		}
		if err != nil && errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
	}
	close(done)
	swapping.Wait()
	if got > 0 {
		t.Errorf("%d of %d reads gave what lies outside of the outbox", got, tried)
	}
	t.Logf("%d reads", tried)
}
