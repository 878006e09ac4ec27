package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
	"torno/watcher/run"
)

// desk is a store, and what runs do with it.
type desk struct {
	*testing.T

	state string
	ahead time.Duration // of the believed time
	store *Store
}

func newDesk(t *testing.T, b Bounds) *desk {
	t.Helper()
	d := &desk{T: t, state: t.TempDir()}
	d.open(b)
	return d
}

// open opens the store, as another watcher does.
func (d *desk) open(b Bounds) {
	d.Helper()
	store, err := Open(d.state, b, func() time.Time { return time.Now().Add(d.ahead) }, slog.New(slog.DiscardHandler))
	d.must(err)
	d.store = store
	d.Cleanup(func() { store.Close() })
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// holder is a run of an agent. session is the one that its request names.
func (d *desk) holder(subagent, request, session string) *run.Holder {
	d.Helper()
	id, err := delegation.ParseSubagentID(subagent)
	d.must(err)
	asked, err := delegation.ParseRequestID(request)
	d.must(err)
	return &run.Holder{
		Sandbox: sandbox.NewSandboxID(), Key: sandbox.RunKey{Outbox: "o1", Subagent: id, Request: asked, Attempt: 1},
		Spec: sandbox.Spec{Profile: "p", Process: sandbox.Process{Agent: "claude", Session: session}},
	}
}

func (d *desk) acquire(h *run.Holder) *run.Holder {
	d.Helper()
	d.must(d.store.Acquire(context.Background(), h))
	return h
}

// parts are those of a bundle.
func parts(bundle int, data string, size int) (all []agent.Part) {
	for offset := 0; offset < len(data); offset += size {
		end := min(len(data), offset+size)
		all = append(all, agent.Part{Bundle: bundle, Offset: int64(offset), Data: []byte(data[offset:end]), Last: end == len(data)})
	}
	all[len(all)-1].Version = "2.1.330"
	return all
}

func (d *desk) take(h *run.Holder, all ...agent.Part) {
	for _, p := range all {
		d.store.Take(h.Sandbox, p)
	}
}

// end ends a run, and says what it was told.
func (d *desk) end(h *run.Holder) run.Used {
	d.Helper()
	used, err := d.store.End(context.Background(), *h)
	d.must(err)
	return used
}

// given is what a further run of a subagent would find.
func (d *desk) given(subagent, session string) string {
	d.Helper()
	h := d.holder(subagent, "asks", session)
	err := d.store.Acquire(context.Background(), h)
	if refusal := (*delegation.Refusal)(nil); errors.As(err, &refusal) {
		return "refused"
	}
	d.must(err)
	d.must(d.store.Release(context.Background(), h.Sandbox))
	if len(h.Spec.Files) != 1 || h.Spec.Files[0].Name != sandbox.SessionFile {
		d.Fatalf("the sandbox has the files %+v", h.Spec.Files)
	}
	return string(h.Spec.Files[0].Content)
}

// left are the files of sandboxes.
func (d *desk) left() []string {
	d.Helper()
	entries, err := os.ReadDir(filepath.Join(d.state, Name, incoming))
	d.must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestASessionComesBack(t *testing.T) {
	d := newDesk(t, Usual)
	first := d.acquire(d.holder("a", "1", ""))
	d.take(first, parts(1, "an early bundle", 4)...)
	d.take(first, parts(2, "the bundle", 3)...)
	used := d.end(first)
	if again := d.end(first); used.Session == "" || len(used.Warnings) > 0 || again.Session != used.Session {
		t.Errorf("the first run ended with %+v, %+v", used, again)
	}
	d.must(d.store.Release(t.Context(), first.Sandbox))
	second := d.acquire(d.holder("a", "2", used.Session))
	if len(second.Spec.Files) != 1 || string(second.Spec.Files[0].Content) != "the bundle" {
		t.Errorf("the second sandbox has %+v", second.Spec.Files)
	}
	d.take(second, parts(1, "more", 100)...)
	if on := d.end(second); on.Session != used.Session {
		t.Errorf("the second run's session is %q, and the first one's %q", on.Session, used.Session)
	}
	d.must(d.store.Release(t.Context(), second.Sandbox))
	if got := d.given("a", delegation.SessionLast); got != "more" {
		t.Errorf("the third sandbox has %q", got)
	}
	all, err := List(d.state)
	if err != nil || len(all) != 1 || all[0].Runs != 2 || all[0].AgentVersion != "2.1.330" || all[0].Profile != "p" {
		t.Errorf("kept are %+v, %v", all, err)
	}
	if left := d.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestASessionIsOneSubagents: no other subagent, outbox or agent is given it, and a name of an earlier conversation does not lead to a
// later one. Each refusal says the next step.
func TestASessionIsOneSubagents(t *testing.T) {
	d := newDesk(t, Usual)
	first := d.acquire(d.holder("a", "1", ""))
	d.take(first, parts(1, "the bundle", 100)...)
	id := d.end(first).Session
	other := d.holder("a", "2", id)
	for what, change := range map[string]func(*run.Holder){
		"another subagent": func(h *run.Holder) { h.Key.Subagent = d.holder("b", "1", "").Key.Subagent },
		"another outbox":   func(h *run.Holder) { h.Key.Outbox = "o2" },
		"another agent":    func(h *run.Holder) { h.Spec.Process.Agent = "codex" },
		"another session":  func(h *run.Holder) { h.Spec.Process.Session = "session-0" },
		"an unlikely name": func(h *run.Holder) { h.Spec.Process.Session = "../../" + id },
	} {
		h := *other
		change(&h)
		var refusal *delegation.Refusal
		err := d.store.Acquire(t.Context(), &h)
		if !errors.As(err, &refusal) || refusal.Code != delegation.CodeSession || refusal.Hint == "" || len(h.Spec.Files) > 0 {
			t.Errorf("%s: %v, with the files %+v", what, err, h.Spec.Files)
		}
		if early := d.store.Refuse(h.Key.Outbox, h.Key.Subagent, h.Spec.Process); early == nil || early.Text != refusal.Text {
			t.Errorf("%s: admission says %v", what, early)
		}
	}
	if refusal := d.store.Refuse(other.Key.Outbox, other.Key.Subagent, other.Spec.Process); refusal != nil {
		t.Errorf("the right one: %v", refusal)
	}
	later := d.acquire(d.holder("a", "3", ""))
	d.take(later, parts(1, "a new conversation", 100)...)
	d.end(later)
	if got := d.given("a", id); got != "refused" {
		t.Errorf("the name of the conversation before leads to %q", got)
	}
}

// TestHalfASessionIsNone: what was kept before stays, and the run is warned.
func TestHalfASessionIsNone(t *testing.T) {
	whole := parts(1, "0123456789", 3)
	for what, said := range map[string][]agent.Part{
		"no end":              whole[:3],
		"a hole":              {whole[0], whole[2], whole[3]},
		"no beginning":        whole[1:],
		"the next one begins": {whole[0], whole[1], {Bundle: 2, Data: []byte("x")}},
		"another one's end":   {whole[0], {Bundle: 2, Offset: 3, Data: []byte("x"), Last: true}},
	} {
		d := newDesk(t, Usual)
		first := d.acquire(d.holder("a", "1", ""))
		d.take(first, parts(1, "the old one", 100)...)
		id := d.end(first).Session
		second := d.acquire(d.holder("a", "2", id))
		d.take(second, said...)
		if used := d.end(second); used.Session != "" || len(used.Warnings) != 1 {
			t.Errorf("%s: the run ended with %+v", what, used)
		}
		d.must(d.store.Release(t.Context(), second.Sandbox))
		if got := d.given("a", id); got != "the old one" {
			t.Errorf("%s: kept is %q", what, got)
		}
	}
}

// TestAWatcherDiesBetweenParts: at each part, with what it has read last read again. The next one has the whole bundle.
func TestAWatcherDiesBetweenParts(t *testing.T) {
	all := append(parts(1, "the first bundle", 3), parts(2, "0123456789", 3)...)
	for dies := range len(all) + 1 {
		for again := range dies + 1 {
			d := newDesk(t, Usual)
			h := d.acquire(d.holder("a", "1", ""))
			d.take(h, all[:dies]...)
			d.open(Usual)
			d.take(h, all[dies-again:]...)
			d.store.Sweep(func(id sandbox.SandboxID) bool { return id == h.Sandbox })
			if used := d.end(h); used.Session == "" || len(used.Warnings) > 0 {
				t.Fatalf("dead after %d parts, %d again: %+v", dies, again, used)
			}
			if got := d.given("a", delegation.SessionLast); got != "0123456789" {
				t.Fatalf("dead after %d parts, %d again: kept is %q", dies, again, got)
			}
		}
	}
}

// TestAnEndThatIsToldTwice: the watcher dies behind the rename, and the next one ends the run again; or it dies before, and the run was
// lost meanwhile. Nothing is kept that a later run has replaced.
func TestAnEndThatIsToldTwice(t *testing.T) {
	d := newDesk(t, Usual)
	h := d.acquire(d.holder("a", "1", ""))
	d.take(h, parts(1, "the first", 100)...)
	id := d.end(h).Session
	d.open(Usual)
	if used := d.end(h); used.Session != id {
		t.Errorf("the end again: %+v", used)
	}
	later := d.acquire(d.holder("a", "2", id))
	d.take(later, parts(1, "the second", 100)...)
	d.end(later)
	d.must(d.store.Release(t.Context(), h.Sandbox)) // late
	if got := d.given("a", id); got != "the second" {
		t.Errorf("kept is %q", got)
	}
	lost := d.acquire(d.holder("b", "1", ""))
	d.take(lost, parts(1, "until it was lost", 100)...)
	d.must(d.store.Release(t.Context(), lost.Sandbox))
	if got := d.given("b", delegation.SessionLast); got != "until it was lost" {
		t.Errorf("of a run that was lost %q is kept", got)
	}
}

// TestWhatNoRunHasIsSwept: a next watcher removes it, and nothing of the runs that go on or begin meanwhile.
func TestWhatNoRunHasIsSwept(t *testing.T) {
	d := newDesk(t, Usual)
	gone, kept := d.acquire(d.holder("a", "1", "")), d.acquire(d.holder("b", "1", ""))
	for _, h := range []*run.Holder{gone, kept} {
		d.take(h, parts(1, "0123456789", 3)[:2]...)
	}
	d.open(Usual)
	young := d.acquire(d.holder("c", "1", ""))
	d.store.Sweep(func(id sandbox.SandboxID) bool { return id == kept.Sandbox })
	for _, name := range d.left() {
		if strings.HasPrefix(name, string(gone.Sandbox)) {
			t.Errorf("%s is left", name)
		}
	}
	for _, h := range []*run.Holder{kept, young} {
		if _, err := d.store.dir.Stat(noteName(h.Sandbox)); err != nil {
			t.Error(err)
		}
	}
}

// TestADeathBeforeTheRename: what the dead watcher has written beside is the run's, which ends while the next watcher sweeps.
func TestADeathBeforeTheRename(t *testing.T) {
	d := newDesk(t, Usual)
	h := d.acquire(d.holder("a", "1", ""))
	d.take(h, parts(1, "the bundle", 100)...)
	d.must(d.store.dir.WriteFile(newName(h.Sandbox), []byte("half of it"), 0o600))
	d.open(Usual)
	d.store.Sweep(func(id sandbox.SandboxID) bool {
		if _, err := d.store.dir.Stat(newName(h.Sandbox)); err != nil {
			t.Error("it was taken away:", err)
		}
		return id == h.Sandbox
	})
	if _, err := d.store.dir.Stat(newName(h.Sandbox)); err != nil {
		t.Error("it was taken away:", err)
	}
	if used := d.end(h); used.Session == "" {
		t.Errorf("the run ended with %+v", used)
	}
	d.must(d.store.Release(t.Context(), h.Sandbox))
	if left := d.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestAPowerCutLeavesTheOldSession: the name of a whole bundle is on the disk, and its bytes are not all there.
func TestAPowerCutLeavesTheOldSession(t *testing.T) {
	for what, damage := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"one off": func(b []byte) []byte { return b[:len(b)-1] },
		"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
		"a page":  func(b []byte) []byte { return append(make([]byte, 10), b[10:]...) },
	} {
		d := newDesk(t, Usual)
		first := d.acquire(d.holder("a", "1", ""))
		d.take(first, parts(1, "the old one", 100)...)
		id := d.end(first).Session
		lost := d.acquire(d.holder("a", "2", id))
		d.take(lost, parts(1, strings.Repeat("a longer bundle ", 20), 100)...)
		name := filepath.Join(d.state, Name, wholeName(lost.Sandbox))
		data, err := os.ReadFile(name)
		d.must(err)
		d.must(os.WriteFile(name, damage(data), 0o600))
		d.open(Usual)
		d.must(d.store.Release(t.Context(), lost.Sandbox))
		if got := d.given("a", id); got != "the old one" {
			t.Errorf("%s: kept is %.40q", what, got)
		}
	}
}
