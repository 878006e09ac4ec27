package outbox

import (
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/run"
)

func TestASentinelIsSpentByItsOwnRunOnly(t *testing.T) {
	box := newBox(t, Host{}, Settings{MaxRequestBytes: 100})
	id, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	a := &Admission{Request: run.Request{Key: sandbox.RunKey{Subagent: id}}, box: box, file: delegation.RequestName(id)}
	write := func(name string) delegation.Reading {
		if err := os.WriteFile(filepath.Join(box.Dir.Path(), name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		_, read, err := box.Dir.ReadRequest(name, 100)
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
	if _, err := box.Dir.Stat("cancel_s1"); err != nil {
		t.Error("the sentinel of the next request was taken away:", err)
	}
	a.read.Store(&own)
	a.DiscardCancels()
	if _, err := box.Dir.Stat("cancel_s1"); err == nil {
		t.Error("its own sentinel is left")
	}
}
