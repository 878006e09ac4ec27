package mounts

import (
	"errors"
	"os"
	"testing"

	"torno/test/attack"
)

// TestRootsOfSandboxesAreApart reaches for bases and withheld places as root file systems, by their own names and by those that a
// mount gives them. The oracle is the place itself: what Apart refuses could be opened, and is what it is said to be.
func TestRootsOfSandboxesAreApart(t *testing.T) {
	m := newMachine(t)
	m.bind(".", "alias")
	m.bind("srv/free", "names/free")
	b := m.open("srv/free")
	m.ok(os.MkdirAll(m.at("opt/images/root"), 0o755))
	trial := attack.Trial{Row: "R2", Where: "apart, bind mounts", Oracle: true}
	for _, c := range []struct{ rel, same string }{
		{"srv/free", ""},
		{"srv/free/ws", ""},
		{"srv", ""},
		{"names/free", "srv/free"},
		{"names/free/ws", "srv/free/ws"},
		{"alias/srv", "srv"},
		{"alias/srv/free/ws", "srv/free/ws"},
		{"srv/box", ""},
		{"alias/srv/box/workspaces", "srv/box/workspaces"},
		{"var", ""},
		{"var/state/docker", ""},
		{"alias/var/state", "var/state"},
		{"run", ""},
		{"alias/run/engine", "run/engine"},
	} {
		place, err := os.Open(m.at(c.rel))
		m.ok(err)
		trial.Tried++
		if err := b.Apart(place); errors.Is(err, ErrNotApart) {
			trial.Held++
		} else {
			t.Errorf("%s: %v", c.rel, err)
		}
		if c.same != "" {
			one, err := place.Stat()
			m.ok(err)
			two, err := os.Stat(m.at(c.same))
			m.ok(err)
			trial.Oracle = trial.Oracle && os.SameFile(one, two)
		}
		place.Close()
	}
	for _, rel := range []string{"opt/images/root", "alias/opt/images"} {
		place, err := os.Open(m.at(rel))
		m.ok(err)
		if err := b.Apart(place); err != nil {
			t.Errorf("%s is apart, and is refused: %v", rel, err)
		}
		place.Close()
	}
	attack.Record(t, trial)
}
