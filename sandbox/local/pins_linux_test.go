package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
	"torno/test/missing"
)

// world is a root of the operator's.
type world struct {
	testing.TB
	base  string
	bases *mounts.Bases
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, base: t.TempDir()}
	var err error
	w.bases, err = mounts.OpenBases([]string{w.base})
	w.must(err)
	t.Cleanup(func() { w.must(w.bases.Close()) })
	return w
}

func (w *world) must(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

func (w *world) at(rel string) string { return filepath.Join(w.base, rel) }

func (w *world) mount(rel, target, prefix string) sandbox.Mount {
	return sandbox.Mount{Source: sandbox.Source{Base: w.base, Rel: rel}, Target: target, Prefix: prefix}
}

func (w *world) workspace(rel, target, prefix string) sandbox.Mount {
	m := w.mount(rel, target, prefix)
	m.Workspace = true
	return m
}

func (w *world) pin(wanted ...sandbox.Mount) Pins {
	w.Helper()
	pins, err := Pin(w.bases, wanted, []uint32{uint32(os.Geteuid()), 1000})
	w.must(err)
	w.Cleanup(pins.Close)
	return pins
}

// TestRefusalsHelp: each says what is wrong with which path of the parent's, and what to do.
func TestRefusalsHelp(t *testing.T) {
	w := newWorld(t)
	w.must(
		os.MkdirAll(w.at("kept/in"), 0o755), os.Mkdir(w.at("ws"), 0o755), os.WriteFile(w.at("file"), nil, 0o644),
		os.Symlink("ws", w.at("link")), unix.Mkfifo(w.at("fifo"), 0o644), os.Mkdir(w.at("state"), 0o755),
		Withhold(w.bases, w.at("state"), []string{w.at("kept/in/engine.sock")}),
	)
	for rel, says := range map[string]string{
		"none": "create it before", "link": "name the real path", "fifo": "name a directory", "file": "name a directory", "file/x": "name a directory",
		"../x": "under a root", "state": "Torno's own state", ".": "it is or holds", "kept/in": "an engine's socket", "kept": "an engine's socket",
	} {
		for _, m := range []sandbox.Mount{w.workspace(rel, "/p/x", "/p"), w.mount(rel, "/p/x", "/p")} {
			_, err := Pin(w.bases, []sandbox.Mount{w.workspace("ws", "/ws", "/ws"), m}, []uint32{uint32(os.Geteuid())})
			if rel == "file" && !m.Workspace {
				w.must(err)
				continue
			}
			want := map[bool]delegation.Code{true: delegation.CodeWorkspace, false: delegation.CodeContext}[m.Workspace]
			var refusal *delegation.Refusal
			if !errors.As(err, &refusal) || refusal.Code != want || !strings.Contains(refusal.Hint, says) || !strings.Contains(refusal.Text, `"/p/x"`) {
				t.Errorf("%s: %+v; it does not say %q", rel, err, says)
			}
		}
	}
}

// TestPinsTellWhatTheyHold also when it has moved.
func TestPinsTellWhatTheyHold(t *testing.T) {
	w := newWorld(t)
	w.must(os.Mkdir(w.at("ctx"), 0o755), os.Mkdir(w.at("ws"), 0o755))
	elsewhere := w.mount("ctx", "/c", "/c")
	elsewhere.Engine = "/engine/ctx"
	pins := w.pin(elsewhere, w.workspace("ws", "/ws", "/ws"))
	w.must(os.Rename(w.at("ws"), w.at("moved")))
	paths, err := pins.Paths()
	if err != nil || !slices.Equal(paths, []string{"/engine/ctx", w.at("moved")}) {
		t.Errorf("the engine is told %q, %v", paths, err)
	}
	var st unix.Stat_t
	w.must(unix.Stat(w.at("moved"), &st))
	dev, ino := pins.Workspace()
	expected := pins.Expected(true)
	if dev != st.Dev || ino != st.Ino || expected[1].Device != dev || expected[1].Inode != ino || !expected[1].Writable || expected[0].Writable || !expected[0].Hardened {
		t.Errorf("workspace %d:%d, init expects %+v", dev, ino, expected)
	}
	for i, m := range Unnumbered(expected) {
		if m.Device != 0 || m.Inode != 0 || !m.Unnumbered || m.Writable != expected[i].Writable || expected[i].Device == 0 {
			t.Errorf("without numbers %+v, before %+v", m, expected[i])
		}
	}
	if who, err := pins.Owner(); st.Uid != 0 && (err != nil || who.UID != st.Uid) || st.Uid == 0 && err == nil {
		t.Errorf("it would run as %+v, %v", who, err)
	}
	if _, err := Pin(w.bases, []sandbox.Mount{elsewhere}, []uint32{0}); err == nil {
		t.Error("a sandbox without a workspace belongs to somebody")
	}
}

// TestPlaces has a workspace in a context and a file, in two views, with ids exchanged and without.
func TestPlaces(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root may mount")
	}
	uids := UIDRange{First: 2_000_000_000, Count: 1}
	for what, ids := range map[string]IDs{
		"exchanged": {Range: uids, Maps: mounts.NewIDMaps()}, "without groups": {Range: uids, Maps: mounts.NewIDMaps(), Own: true}, "as they are": {Range: uids},
	} {
		t.Run(what, func(t *testing.T) { testPlaces(newWorld(t), ids) })
	}
}

// TestAWayThatIsClosedToTheChild: in root's own outbox a child is not root in what it reads, so a workspace behind another user's closed
// directory there is out of its reach.
func TestAWayThatIsClosedToTheChild(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root may mount")
	}
	w := newWorld(t)
	w.must(os.MkdirAll(w.at("ctx/closed/ws"), 0o755), os.Chmod(w.at("ctx/closed"), 0o700), os.Chown(w.at("ctx/closed"), 1001, 1001))
	pins := w.pin(w.mount("ctx", "/p", "/p"), w.workspace("ctx/closed/ws", "/p/closed/ws", "/p"))
	ids := IDs{Range: UIDRange{First: 2_000_000_000, Count: 1}, Maps: mounts.NewIDMaps(), Own: true}
	defer func() { w.must(ids.Maps.Close()) }()
	slots, err := mounts.OpenSlots(filepath.Join(w.TempDir(), "slots"), 1, true)
	w.must(err)
	defer func() { w.must(slots.Close()) }()
	slot, err := acquire(slots, ids.Range)
	w.must(err)
	defer func() { w.must(slot.Free()) }()
	var refusal *delegation.Refusal
	if err := pins.Lay(slot, ids); !errors.As(err, &refusal) || refusal.Code != delegation.CodeWorkspace || !strings.Contains(refusal.Hint+refusal.Text, "closed to the child") {
		t.Errorf("it says %v", err)
	}
}

func testPlaces(w *world, ids IDs) {
	if ids.Maps != nil {
		defer func() { w.must(ids.Maps.Close()) }()
	}
	w.must(os.MkdirAll(w.at("ctx/ws"), 0o755), os.Chown(w.at("ctx/ws"), 1000, 1000), os.Chown(w.at("ctx"), 1000, 1000), os.Chmod(w.at("ctx"), 0o700), os.WriteFile(w.at("note"), []byte("hello"), 0o644))
	pins := w.pin(w.mount("ctx", "/p", "/p"), w.mount("note", "/c/deep/note", "/c"), w.workspace("ctx/ws", "/p/ws", "/p"))
	slots, err := mounts.OpenSlots(filepath.Join(w.TempDir(), "slots"), 1, true)
	w.must(err)
	defer func() { w.must(slots.Close()) }()
	slot, err := acquire(slots, ids.Range)
	w.must(err)
	defer func() { w.must(slot.Free()) }()
	if _, err := acquire(slots, ids.Range); !errors.Is(err, mounts.ErrNoSlot) {
		w.Errorf("a second slot of one: %v", err)
	}
	w.must(pins.Lay(slot, ids))
	first, err := slot.ViewDir(0)
	w.must(err)
	second, err := slot.ViewDir(1)
	w.must(err)
	places := []string{first + "/self", second + "/deep/note"}
	owner := map[bool]uint32{true: ids.Range.First + 1, false: 1000}[ids.Maps != nil]
	child := mounts.User{} // we ourselves
	if ids.Own {           // root's capabilities do not count in a mount without groups
		child = mounts.User{UID: owner, GID: owner}
	}
	held, err := os.OpenFile(places[0], unix.O_PATH, 0)
	w.must(err)
	defer held.Close()
	seen := []string{fmt.Sprintf("/proc/self/fd/%d", held.Fd()), places[1], fmt.Sprintf("/proc/self/fd/%d/ws", held.Fd())}
	for i, place := range seen {
		var st unix.Stat_t
		if i == 1 {
			w.must(unix.Stat(place, &st))
		} else {
			w.must(child.Do(func() error { return unix.Stat(place, &st) }))
		}
		if want := pins.Expected(true)[i]; st.Dev != want.Device || st.Ino != want.Inode {
			w.Errorf("at %s is %d:%d, want %+v", place, st.Dev, st.Ino, want)
		}
		if i == 2 && (st.Uid != owner || st.Gid != owner) {
			w.Errorf("the workspace belongs to %d:%d there, want %d", st.Uid, st.Gid, owner)
		}
	}
	if err := child.Do(func() error { return os.WriteFile(seen[0]+"/x", nil, 0o644) }); !errors.Is(err, unix.EROFS) {
		w.Errorf("the context can be written: %v", err)
	}
	w.must(child.Do(func() error { return os.WriteFile(seen[2]+"/x", nil, 0o644) }))
	view := Views(pins.wanted)[0]
	if source, err := view.Source(slot); err != nil || source != places[0] {
		w.Errorf("an engine binds %s, %v, and the mount is at %s", source, err, places[0])
	}
	var refusal *delegation.Refusal
	if err := pins.Lay(slot, ids); !errors.As(err, &refusal) || refusal.Code != delegation.CodeContext {
		w.Errorf("a place was taken twice: %v", err)
	}
}
