package outbox

import (
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/test/coarse"
)

// lectern is an outbox without a watcher, at which a test exchanges the request whenever the outbox is about to write.
type lectern struct {
	*testing.T
	box     *Outbox
	publish func() // just before it does
}

func newLectern(t *testing.T) *lectern {
	l := &lectern{T: t, publish: func() {}}
	l.box = newBox(t, Host{}, Settings{MaxRequestBytes: 100, Lock: func() error { l.publish(); return nil }})
	return l
}

// write writes the request, over the one that is there.
func (l *lectern) write(text string) {
	l.Helper()
	file, err := os.OpenFile(filepath.Join(l.box.Dir.Path(), "request_s1.json"), os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lectern) read() delegation.Reading {
	l.Helper()
	_, read, err := l.box.Dir.ReadRequest("request_s1.json", 100)
	if err != nil {
		l.Fatal(err)
	}
	return read
}

// TestAResponseIsTakenBack: its request is exchanged for one with the same stamp after the last look before the response is
// published. The first half is the oracle: where nothing is exchanged, the response stays.
func TestAResponseIsTakenBack(t *testing.T) {
	coarse.TempDir(t)
	for try, shared := 0, 0; shared < 5; try++ {
		if try == 50 {
			t.Fatal("no two requests came to share a stamp")
		}
		l := newLectern(t)
		body := delegation.Response{Version: delegation.Version, SubagentID: "s1", RequestID: "r1", Status: delegation.StatusError, ExitCode: -1}
		l.write("first")
		first := l.read()
		if err := l.box.Respond("request_s1.json", "response_s1.json", first, body); err != nil || !l.box.there("response_s1.json") {
			t.Fatal("a request that lies there is not answered:", err)
		}
		l.publish = func() { l.write("other") }
		if err := l.box.Respond("request_s1.json", "response_s1.json", first, body); err != nil {
			t.Fatal(err)
		}
		if l.box.there("response_s1.json") {
			t.Error("the response of one request lies beside another one")
		}
		if l.read().Stamp.SameFile(first.Stamp) {
			shared++
		}
	}
}
