package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// TestSessionsAreBounded by number, bytes and age; the one that was just kept stays.
func TestSessionsAreBounded(t *testing.T) {
	keep := func(d *desk, subagent, data string) {
		h := d.acquire(d.holder(subagent, "1", ""))
		d.take(h, parts(1, data, 1000)...)
		d.end(h)
		name := filepath.Join(d.state, Name, fileName("o1", h.Key.Subagent))
		d.must(os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)))
	}
	count := func(d *desk) int {
		all, err := List(d.state)
		d.must(err)
		return len(all)
	}
	d := newDesk(t, Bounds{Number: 2, Bytes: 1 << 20})
	for _, id := range []string{"a", "b", "c"} {
		keep(d, id, "x")
	}
	if n := count(d); n != 2 {
		t.Errorf("by number %d are kept", n)
	}
	if got := d.given("c", delegation.SessionLast); got != "x" {
		t.Errorf("the newest is %q", got)
	}
	d = newDesk(t, Bounds{Number: 100, Bytes: 3000})
	for _, id := range []string{"a", "b", "c"} {
		keep(d, id, strings.Repeat("x", 1000))
	}
	if n := count(d); n != 2 {
		t.Errorf("by bytes %d are kept", n)
	}
	d = newDesk(t, Bounds{Number: 100, Bytes: 1 << 20, Age: time.Minute})
	keep(d, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.store.Loop(ctx)
	if n := count(d); n != 0 {
		t.Errorf("by age %d are kept", n)
	}
	d.ahead = -2 * time.Hour // the clock has jumped, and is not believed
	keep(d, "b", "x")
	d.store.Loop(ctx)
	if n := count(d); n != 1 {
		t.Errorf("by a clock that is not believed it is too old, and %d are kept", n)
	}
}

// TestAClockThatIsFarBackDeletesNothing: what is kept while the clock is far back, and not believed, is as young as it is.
func TestAClockThatIsFarBackDeletesNothing(t *testing.T) {
	d := newDesk(t, Bounds{Number: 100, Bytes: 1 << 20, Age: 30 * 24 * time.Hour})
	d.ahead = 365 * 24 * time.Hour // the believed time, of a clock that was set a year back
	for _, id := range []string{"a", "b"} {
		h := d.acquire(d.holder(id, "1", ""))
		d.take(h, parts(1, "x", 1000)...)
		d.end(h)
	}
	all, err := List(d.state)
	d.must(err)
	if len(all) != 2 {
		t.Errorf("of two sessions that were kept just now there are %d", len(all))
	}
}

// TestAnOutboxPushesOutItsOwnSessions, by number and by bytes, although another outbox's are older.
func TestAnOutboxPushesOutItsOwnSessions(t *testing.T) {
	for what, b := range map[string]Bounds{"number": {Number: 4, Bytes: 1 << 20}, "bytes": {Number: 100, Bytes: 3000}} {
		d := newDesk(t, b)
		keep := func(outbox, subagent, data string, age time.Duration) {
			h := d.holder(subagent, "1", "")
			h.Key.Outbox = outbox
			d.acquire(h)
			d.take(h, parts(1, data, 1000)...)
			d.end(h)
			name := filepath.Join(d.state, Name, fileName(outbox, h.Key.Subagent))
			d.must(os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
		}
		keep("o1", "a", "a modest one", 2*time.Hour)
		for n := range 20 {
			keep("o2", fmt.Sprint("s", n), strings.Repeat("x", 500), time.Hour-time.Duration(n)*time.Minute)
		}
		if got := d.given("a", delegation.SessionLast); got != "a modest one" {
			t.Errorf("%s: the other outbox's session is %q", what, got)
		}
		all, err := List(d.state)
		if err != nil || len(all) < 2 || len(all) > 5 || all[0].Subagent != "s19" {
			t.Errorf("%s: kept are %+v, %v", what, all, err)
		}
	}
}

// TestSessionsAreClosedToOthers: of the directories and files of the store none is for another user.
func TestSessionsAreClosedToOthers(t *testing.T) {
	d := newDesk(t, Usual)
	h := d.acquire(d.holder("a", "1", ""))
	d.take(h, parts(1, "0123456789", 3)[:2]...)
	done := d.acquire(d.holder("b", "1", ""))
	d.take(done, parts(1, "0123456789", 3)...)
	d.end(done)
	d.must(filepath.WalkDir(filepath.Join(d.state, Name), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	}))
}

// TestADamagedSessionIsRefused, also where its bytes alone have changed.
func TestADamagedSessionIsRefused(t *testing.T) {
	for what, damage := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { return append(b[:len(b)-1], '!') },
		"no line": func([]byte) []byte { return bytes.Repeat([]byte("x"), 2*maxRecord) },
	} {
		d := newDesk(t, Usual)
		h := d.acquire(d.holder("a", "1", ""))
		d.take(h, parts(1, "0123456789", 100)...)
		d.end(h)
		name := filepath.Join(d.state, Name, fileName("o1", h.Key.Subagent))
		data, err := os.ReadFile(name)
		d.must(err)
		d.must(os.WriteFile(name, damage(data), 0o600))
		if got := d.given("a", delegation.SessionLast); got != "refused" {
			t.Errorf("%s: it is given %q", what, got)
		}
	}
}

// TestAFloodOfParts: a child that says one part again and again, or bundles without end, writes a bounded number of bytes, and of files
// two.
func TestAFloodOfParts(t *testing.T) {
	d := newDesk(t, Usual)
	h := d.acquire(d.holder("a", "1", ""))
	d.take(h, parts(1, "whole", 100)...)
	for n := range 10 * agent.MaxBundles {
		d.take(h, agent.Part{Bundle: 1 + n%agent.MaxBundles, Data: []byte("x")})
	}
	if left := d.left(); len(left) > 4 {
		t.Errorf("the files are %q", left)
	}
	sp := d.store.spoolOf(h.Sandbox)
	if sp.taken > 2*agent.MaxBundles {
		t.Errorf("%d bytes were taken", sp.taken)
	}
	sp.taken = maxTaken
	d.take(h, agent.Part{Bundle: agent.MaxBundles, Data: []byte("x")})
	d.take(h, parts(agent.MaxBundles, "later", 100)...)
	if used := d.end(h); used.Session == "" {
		t.Errorf("the run ended with %+v", used)
	}
	if got := d.given("a", delegation.SessionLast); got != "whole" {
		t.Errorf("kept is %q", got)
	}
}

// TestAStrangerInTheStore: a sandbox of which nothing is noted writes nothing, and an id that is none names no file.
func TestAStrangerInTheStore(t *testing.T) {
	d := newDesk(t, Usual)
	d.store.Take(sandbox.NewSandboxID(), parts(1, "x", 1)[0])
	d.must(d.store.Release(t.Context(), "../../../etc/passwd"))
	if left := d.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := Remove(d.state, "session-0"); !errors.Is(err, ErrNone) {
		t.Errorf("remove what is not there: %v", err)
	}
}
