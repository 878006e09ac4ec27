package mounts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// place pins a directory beneath a base and asks what lies above it.
func (m *machine) place(b *Bases, base, rel string) []sandbox.Directory {
	m.Helper()
	pin, err := b.Pin(sandbox.Source{Base: m.at(base), Rel: rel})
	m.ok(err)
	defer pin.Close()
	above, err := b.Above(pin)
	m.ok(err)
	return above
}

// TestAboveSeesThroughBindMounts asks of pairs of directories whether they are equal or nested, where mounts give them other
// names. What is nested by its path in the file system is in the list; what is not is in none.
func TestAboveSeesThroughBindMounts(t *testing.T) {
	m := newMachine(t)
	for _, dir := range []string{"data/x/ws/s1", "data/y"} {
		m.ok(os.MkdirAll(m.at(dir), 0o755))
	}
	m.bind("data/x/ws", "names/ws")
	m.bind("data/x/ws", "names/again")
	m.bind("data/y", "data/y") // onto itself
	b := m.open("data", "names/ws", "names/again", "data/y")
	for _, c := range []struct {
		base, rel, other, otherRel string
		meet                       bool
	}{
		{"data", "x/ws/s1", "names/ws", "s1", true},
		{"names/ws", "s1", "names/again", "s1", true},
		{"names/ws", "s1", "names/again", ".", true},
		{"names/ws", "s1", "data", "x", true},
		{"names/ws", ".", "data", "x", true},
		{"names/again", "s1", "data", ".", true},
		{"data/y", ".", "data", ".", true},
		{"data/y", ".", "names/ws", "s1", false},
		{"data/y", ".", "data", "x", false},
	} {
		one, two := m.place(b, c.base, c.rel), m.place(b, c.other, c.otherRel)
		if meet := slices.Contains(one, two[0]) || slices.Contains(two, one[0]); meet != c.meet {
			t.Errorf("%s %s and %s %s: they meet: %t", c.base, c.rel, c.other, c.otherRel, meet)
		}
	}
	before := m.place(b, "names/ws", "s1")
	m.ok(os.Rename(m.at("data/x"), m.at("data/z"))) // above the root of the mount
	if after := m.place(b, "names/ws", "s1"); !slices.Equal(before, after) {
		t.Errorf("a rename above the mount has changed what lies above: %v, then %v", before, after)
	}
}

// TestAboveFailsWhereItCannotTell: another directory lies where the mount's root should be found.
func TestAboveFailsWhereItCannotTell(t *testing.T) {
	m := newMachine(t)
	m.ok(os.MkdirAll(m.at("data/x/ws/s1"), 0o755))
	m.ok(os.MkdirAll(m.at("elsewhere"), 0o755))
	m.bind("data/x/ws", "names/ws")
	m.bind("elsewhere", "data/x/ws")
	b := m.open("data", "names/ws")
	pin, err := b.Pin(sandbox.Source{Base: m.at("names/ws"), Rel: "s1"})
	m.ok(err)
	defer pin.Close()
	if above, err := b.Above(pin); err == nil {
		t.Errorf("it is said to lie below %v", above)
	}
}

func TestAboveNamesEachDirectoryOnce(t *testing.T) {
	m := newMachine(t)
	b := m.open("srv/free")
	above := m.place(b, "srv/free", "ws")
	for i, dir := 0, m.at("srv/free/ws"); i < 3; i, dir = i+1, filepath.Dir(dir) {
		var st unix.Stat_t
		m.ok(unix.Stat(dir, &st))
		if want := (sandbox.Directory{Device: st.Dev, Inode: st.Ino}); above[i] != want {
			t.Errorf("%d above is %v, want %v", i, above[i], want)
		}
	}
}
