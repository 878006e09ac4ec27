package units

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"torno/test/house"
	"torno/test/missing"
)

// standIn puts this program in the watcher's place, once.
var standIn = sync.OnceValue(func() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	watcher := house.Program("watcher")
	if err := os.Rename(watcher, filepath.Join(filepath.Dir(watcher), proper)); err != nil {
		return err
	}
	return os.Symlink(self, watcher)
})

// need skips loudly where a service with sandboxes of a launcher cannot be tried.
func need(t *testing.T, sandbox string) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing.Skip(t, "a unit of the system is root's, and so is what it is tried by")
	}
	house.Need(t, sandbox)
}

// open is a house whose watchers are services of the unit. None is started yet.
func open(t testing.TB, unit Unit, p house.Plan) *house.House {
	t.Helper()
	if err := standIn(); err != nil {
		t.Fatal(err)
	}
	p.Later = true
	h := house.New(t, p)
	walls, err := unit.Walls()
	h.Must(err)
	text, err := json.Marshal(walls)
	h.Must(err)
	h.Env = []string{wallsAre + "=" + string(text)}
	return h
}

// plan is the plan of a story that does not count starts.
func plan(sandbox string) house.Plan {
	return house.Plan{Sandbox: sandbox, Uncounted: true}
}
