package outbox

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/outbox/identity"
)

func TestASentinelIsSpentByItsOwnRunOnly(t *testing.T) {
	path := t.TempDir()
	dir, err := delegation.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	box := &Outbox{Claim: &identity.Claim{Dir: dir}, Settings: Settings{MaxRequestBytes: 100}, log: slog.New(slog.DiscardHandler)}
	id, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	a := &Admission{box: box, Key: sandbox.RunKey{Subagent: id}, file: delegation.RequestName(id)}
	write := func(name string) delegation.Reading {
		if err := os.WriteFile(filepath.Join(path, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		_, read, err := dir.ReadRequest(name, 100)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	own := write(a.file)
	write("cancel_s1")
	another := own
	another.Content = "another"
	a.read.Store(&another)
	a.DiscardCancels()
	if _, err := dir.Stat("cancel_s1"); err != nil {
		t.Error("the sentinel of the next request was taken away:", err)
	}
	a.read.Store(&own)
	a.DiscardCancels()
	if _, err := dir.Stat("cancel_s1"); err == nil {
		t.Error("its own sentinel is left")
	}
}
