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
}

// places are those in which an ordinary user's watcher may have control groups.
var places = map[string]place{
	// `User=` and `Delegate=yes` in a unit of the system's.
	"a service of the system": {"system.slice/torno.service", "system.slice/torno.service"},
	// `Delegate=yes` in a unit of the user's, whose service manager has made all below what it was given itself.
	"a service of a user": {
		"user.slice/user-54321.slice/user@54321.service/app.slice/torno.service", "user.slice/user-54321.slice/user@54321.service",
	},
}

// undelegated are those in which it has none.
var undelegated = map[string]struct {
	place
	says string
}{
	"a login":                    {place{"user.slice/user-54321.slice/session-1.scope", ""}, "permission denied"},
	"a service without Delegate": {place{"system.slice/other.service", ""}, "permission denied"},
}

// makeGroup makes a place, in which controllers are to be had, and returns its directory. It goes with the test, and whatever is in
// it does.
func makeGroup(t *testing.T, p place) string {
	t.Helper()
	dir := top
	for name := range strings.SplitSeq(p.group, "/") {
		must(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0))
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
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
	t.Cleanup(func() { removeGroup(t, dir) })
	return dir
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
