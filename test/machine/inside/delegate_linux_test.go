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

// serviceGroup is the control group that systemd gives a service, and the part of it that belongs to an ordinary user.
type serviceGroup struct {
	group string
	given string // the group that is given to the user, with all below it; "" is none
	free  bool   // there is no controller of processors
}

// users is what systemd gives to a user's own service manager.
const users = "user.slice/user-54321.slice/user@54321.service"

// delegatedGroups are the groups in which an ordinary user's watcher may have control groups.
var delegatedGroups = map[string]serviceGroup{
	"a service of the system": {group: "system.slice/torno.service", given: "system.slice/torno.service"}, // with User=
	"a service of a user":     {group: users + "/app.slice/torno.service", given: users},
	"a service of a user, systemd 249": {
		group: "user.slice/user-4.slice/user@4.service/app.slice/torno.service", given: "user.slice/user-4.slice/user@4.service", free: true,
	},
}

// undelegatedGroups are groups in which it has none.
var undelegatedGroups = map[string]struct {
	serviceGroup
	says string
}{
	"a login":                            {serviceGroup{group: "user.slice/user-54321.slice/session-1.scope"}, "permission denied"},
	"a service of the system, not given": {serviceGroup{group: "system.slice/other.service"}, "permission denied"},
}

// makeGroup makes the group, with controllers, and returns its directory. The group and everything in it goes with the test.
func makeGroup(t *testing.T, g serviceGroup) string {
	t.Helper()
	dir := top
	for name := range strings.SplitSeq(g.group, "/") {
		controllers := "+memory +pids +cpu"
		if g.free && dir != top {
			controllers = "+memory +pids"
		}
		must(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers), 0))
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		g.giveOf(t, dir)
	}
	t.Cleanup(func() { removeGroup(t, dir) })
	return dir
}

// giveOf gives the user what of a place is its own: all that its service manager has made, and of the group in which that is itself
// what it needs.
func (g serviceGroup) giveOf(t *testing.T, dir string) {
	t.Helper()
	switch rel := strings.TrimPrefix(dir, top+"/"); {
	case g.given == "" || !strings.HasPrefix(rel+"/", g.given+"/"):
	case rel == g.given:
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
