package inside

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// top is where control groups are.
const top = "/sys/fs/cgroup"

// ordinary is a user without any right.
const ordinary = 54321

// place is where systemd has the group of a service, and what of it belongs to an ordinary user.
type place struct {
	group string
	given string // the group that is given to the user, with all below it; "" is none
	free  bool   // there is no controller of processors
}

// users is what systemd gives to a user's own service manager.
const users = "user.slice/user-54321.slice/user@54321.service"

// places are those in which an ordinary user's watcher may have control groups.
var places = map[string]place{
	"a service of the system": {group: "system.slice/torno.service", given: "system.slice/torno.service"}, // with User=
	"a service of a user":     {group: users + "/app.slice/torno.service", given: users},
	"a service of a user, systemd 249": {
		group: "user.slice/user-4.slice/user@4.service/app.slice/torno.service", given: "user.slice/user-4.slice/user@4.service", free: true,
	},
}

// undelegated are those in which it has none.
var undelegated = map[string]struct {
	place
	says string
}{
	"a login":                            {place{group: "user.slice/user-54321.slice/session-1.scope"}, "permission denied"},
	"a service of the system, not given": {place{group: "system.slice/other.service"}, "permission denied"},
}

// makeGroup makes a place, in which controllers are to be had, and returns its directory. It goes with the test, and whatever is in
// it does.
func makeGroup(t *testing.T, p place) string {
	t.Helper()
	dir := top
	for name := range strings.SplitSeq(p.group, "/") {
		controllers := "+memory +pids +cpu"
		if p.free && dir != top {
			controllers = "+memory +pids"
		}
		must(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers), 0))
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		p.giveOf(t, dir)
	}
	t.Cleanup(func() { removeGroup(t, dir) })
	return dir
}

// giveOf gives the user what of a place is its own: all that its service manager has made, and of the group in which that is itself
// what it needs.
func (p place) giveOf(t *testing.T, dir string) {
	t.Helper()
	switch rel := strings.TrimPrefix(dir, top+"/"); {
	case p.given == "" || !strings.HasPrefix(rel+"/", p.given+"/"):
	case rel == p.given:
		give(t, dir, "cgroup.procs", "cgroup.threads", "cgroup.subtree_control")
	default:
		all, err := filepath.Glob(filepath.Join(dir, "*"))
		must(t, err)
		for i := range all {
			all[i] = filepath.Base(all[i])
		}
		give(t, dir, all...)
	}
}

// give makes a directory and files in it the user's.
func give(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range append(names, ".") {
		must(t, os.Chown(filepath.Join(dir, name), ordinary, ordinary))
	}
}

// removeGroup does what systemd does with a service that has ended.
func removeGroup(t *testing.T, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0))
	var below []string
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			below = append(below, path)
		}
		return err
	}))
	for i := len(below) - 1; i >= 0; i-- {
		eventually(t, "the group "+below[i]+" is empty", func() bool { return os.Remove(below[i]) == nil })
	}
}
