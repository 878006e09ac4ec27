package manager

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/coarse"
)

// TestARequestOfAnotherClientWithOurStamp: within one second another client of the outbox puts its request where ours is, in a
// file with the same inode, size and times. A client that believes the stamp waits for a response that never comes.
func TestARequestOfAnotherClientWithOurStamp(t *testing.T) {
	coarse.TempDir(t)
	trial := attack.Trial{Row: "O37", Where: "manager"}
	for try := 0; trial.Tried < 5; try++ {
		if try == 50 {
			t.Fatal("no two requests came to share a stamp")
		}
		h := newHost(t)
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		v := tracker{run: run}
		if err := v.checkRequest(); err != nil {
			t.Fatal("our own request:", err)
		}
		name := delegation.RequestName(run.id)
		was := must(h.dir.Stat(name))
		text := must(os.ReadFile(h.join(name)))
		file := must(os.OpenFile(h.join(name), os.O_WRONLY, 0))
		must(file.Write(bytes.ReplaceAll(text, []byte(run.RequestID()), bytes.Repeat([]byte("f"), len(run.RequestID())))))
		must(0, file.Close())
		err := v.checkRequest()
		if !must(h.dir.Stat(name)).SameFile(was) {
			continue
		}
		trial.Tried, trial.Oracle = trial.Tried+1, true
		if errors.Is(err, ErrSuperseded) {
			trial.Held++
		}
	}
	attack.Record(t, trial)
}
