package stakpak

import (
	"context"
	"strings"
	"testing"
	"time"
	"unsafe"

	"torno/manager"
	"torno/manager/mcp"
)

// TestWhatIsRememberedIsBounded: a description keeps nothing of the call in which it stood, and is of its run alone.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	tasks := newTasks()
	call := strings.Repeat("x", 1<<20)
	child := mcp.Child{Item: manager.Item{SubagentID: "abcdef", RequestID: "r", Task: "its prompt"}}
	tasks.remember(child, memory{description: call[:20]})
	kept := tasks.of(child).description
	if unsafe.StringData(kept) == unsafe.StringData(call) {
		t.Error("the whole call is kept")
	}
	tasks.remember(child, memory{description: call})
	if n := len(tasks.of(child).description); n > 1100 {
		t.Errorf("%d bytes are kept", n)
	}
	child.RequestID = "another"
	if got := tasks.command(child); got != "its prompt" {
		t.Error("another run is called", got)
	}
}

// TestAPlaceIsGivenBack: so many calls look at a time, and one whose time is up waits no longer.
func TestAPlaceIsGivenBack(t *testing.T) {
	tasks := newTasks()
	var leave func()
	for range maxLooks {
		var err error
		if leave, err = tasks.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := tasks.enter(ctx); err == nil {
		t.Error("there was a place too many")
	}
	leave()
	if _, err := tasks.enter(t.Context()); err != nil {
		t.Error(err)
	}
}
