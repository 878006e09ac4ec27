package outbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// TestAFloodOfHalfWrittenRequestsIsNotWaitedFor (H26): all others wait while a parent's outbox is taken over.
func TestAFloodOfHalfWrittenRequestsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, start := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20}), time.Now()
		for i := range 200 {
			name := fmt.Sprint("request_s", i, ".json")
			path := filepath.Join(box.Dir.Path(), name)
			if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil { // it is still being written
				t.Fatal(err)
			}
			if _, reason := box.StillAsked(journal.Run{FileName: name}); reason != delegation.ReasonSuperseded {
				t.Fatalf("%s is %q", name, reason)
			}
		}
		if waited := time.Since(start); waited == 0 || waited > 5*time.Second {
			t.Errorf("their writers were waited for, for %s", waited)
		}
	})
}

// TestAFileThatChangesWithoutEndIsNotWaitedFor (H26), but a shortage of this process is.
func TestAFileThatChangesWithoutEndIsNotWaitedFor(t *testing.T) {
	box := newBox(t, Host{Runs: noRuns{}}, Settings{})
	for err, want := range map[error]int{delegation.ErrChanged: mostWriterPauses, syscall.EMFILE: 200} {
		pauses := 0
		for range 200 {
			if box.mayReadAgain("request_s1.json", nil, delegation.Reading{}, fmt.Errorf("read it: %w", err)) {
				pauses++
			}
		}
		if pauses != want {
			t.Errorf("%v is waited for %d times, want %d", err, pauses, want)
		}
	}
}

// TestARequestThatGetsItsNameByALink has two names for a moment, where the file system cannot rename without replacing.
func TestARequestThatGetsItsNameByALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20})
		const name = "request_s1.json"
		temp := filepath.Join(box.Dir.Path(), ".torno-temp")
		for _, err := range []error{
			os.WriteFile(temp, []byte("{}"), 0o644), os.Chtimes(temp, time.Time{}, time.Now()), os.Link(temp, filepath.Join(box.Dir.Path(), name)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		unsettled := func() bool {
			_, read, err := box.Dir.ReadRequest(name, 1<<20)
			refusal := delegation.RefuseEntry(name, err)
			if refusal == nil {
				t.Fatalf("it is read with two names: %v", err)
			}
			return Intake{read: read}.unsettled(refusal)
		}
		if !unsettled() {
			t.Error("it is refused while it gets its name")
		}
		time.Sleep(settle)
		if unsettled() {
			t.Error("it keeps two names, and is looked at again and again")
		}
	})
}
