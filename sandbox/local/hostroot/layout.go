package hostroot

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/paths"
	"torno/sandbox"
)

// Layout tells where a host keeps its programs: all in /usr, with links to it, or in separate directories.
type Layout struct {
	Links map[string]string
	Dirs  []string
	Local bool // there is a /usr/local, which has to be covered
}

// programDirs are the places beside /usr where a host may have programs and libraries.
var programDirs = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// merged are the links of a system that has all its programs in /usr.
var merged = map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

// Read looks at a root directory. It leaves out a link that does not lead to a directory with programs.
//
// A watcher that runs in an image with only our own programs sees no system at all. Then Read assumes that the machine
// is laid out like every distribution of today.
func Read(root string) Layout {
	local, err := os.Lstat(filepath.Join(root, "usr/local"))
	layout := Layout{Links: map[string]string{}, Local: err == nil && local.IsDir()} // a link leads to a shown place or nowhere
	for _, name := range programDirs {
		info, err := os.Lstat(filepath.Join(root, name))
		switch {
		case err != nil:
		case info.IsDir():
			layout.Dirs = append(layout.Dirs, name)
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(filepath.Join(root, name)); err == nil && leadsToPrograms(target) {
				layout.Links[name] = target
			}
		}
	}
	if len(layout.Dirs) == 0 && len(layout.Links) == 0 {
		layout.Links = maps.Clone(merged)
	}
	return layout
}

func leadsToPrograms(target string) bool {
	rel := strings.TrimPrefix(path.Clean(target), "/")
	for _, dir := range append([]string{"usr"}, programDirs...) {
		if paths.Within(dir, rel) {
			return true
		}
	}
	return false
}

// emptyDirs are the directories of the empty root. The sandbox's mounts are placed on them.
var emptyDirs = []string{
	"dev", "etc", "home", strings.TrimPrefix(sandbox.Home, "/"), "proc", "run", "run/torno", "run/torno/bin",
	"run/torno/run", "sys", "tmp", "usr",
}

// modes holds the modes of those directories that need more, or less, than reading for everybody.
var modes = map[string]fs.FileMode{"tmp": fs.ModeSticky | 0o777, strings.TrimPrefix(sandbox.Home, "/"): 0o700}

// Entry is a directory of the empty root, or a link.
type Entry struct {
	Name string // relative to the root
	Mode fs.FileMode
	Link string // the target of a link; "" for a directory
}

// Entries returns everything in the empty root, outer directories first, and always in the same order.
func (l Layout) Entries() []Entry {
	var all []Entry
	for _, dir := range slices.Concat(emptyDirs, l.Dirs) {
		all = append(all, Entry{Name: dir, Mode: fs.ModeDir | cmp.Or(modes[dir], 0o755)})
	}
	for _, name := range slices.Sorted(maps.Keys(l.Links)) {
		all = append(all, Entry{Name: name, Mode: fs.ModeSymlink | 0o777, Link: l.Links[name]})
	}
	return all
}

// Lay makes the empty root in dir, and makes dir if it is missing. Parts of the root that exist already stay.
func (l Layout) Lay(dir string) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	for _, e := range l.Entries() {
		if err := e.create(filepath.Join(dir, e.Name)); err != nil {
			return fmt.Errorf("make an empty root for sandboxes: %w", err)
		}
	}
	return nil
}

func (e Entry) create(path string) error {
	if e.Link == "" {
		if err := ignore(os.Mkdir(path, 0o700), fs.ErrExist); err != nil {
			return err
		}
		return os.Chmod(path, e.Mode&^fs.ModeType)
	}
	err := os.Symlink(e.Link, path)
	if there, _ := os.Readlink(path); there == e.Link {
		return nil
	}
	return err
}

// Bind is a path of the host that a sandbox sees read-only, without the mounts below it.
type Bind struct{ Source, Target string }

// System tells what a launcher shows of the host: the places of its programs, and two directories of the launcher's
// own.
type System struct {
	Layout Layout
	Etc    string // stands for /etc
	Empty  string // covers directories that do not belong to the system
}

// Prepare looks at the host, and makes the two directories in dir.
func Prepare(dir string) (s System, err error) {
	s = System{Layout: Read("/"), Empty: filepath.Join(dir, "empty")}
	if err := MakeDir(s.Empty); err != nil {
		return s, err
	}
	s.Etc, err = layEtc("/", dir)
	return s, err
}

// Binds returns everything that a sandbox sees of the system.
func (s System) Binds() []Bind { return s.Layout.Binds(s.Etc, s.Empty) }

// Around removes each bind whose place one of the targets takes. It refuses a target in /usr where no bind lies: the
// host's programs are read-only there, so nothing can be made to carry a mount.
func Around(binds []Bind, targets []string) ([]Bind, error) {
	has := func(target string) bool {
		return slices.ContainsFunc(binds, func(b Bind) bool { return b.Target == target })
	}
	for _, target := range targets {
		if paths.Within("/usr", target) && !has(target) {
			return nil, fmt.Errorf("this machine has no directory %s, so nothing can be shown there: name another place for the programs with as", target)
		}
	}
	return slices.DeleteFunc(slices.Clone(binds), func(b Bind) bool { return slices.Contains(targets, b.Target) }), nil
}

// Binds returns the host's programs, and the directory etc in place of the host's /etc. Programs that the administrator
// has put into /usr/local do not belong to the system, so the directory empty covers them. A later bind may lie in an
// earlier one.
func (l Layout) Binds(etc, empty string) []Bind {
	all := []Bind{{"/usr", "/usr"}}
	if l.Local {
		all = append(all, Bind{empty, "/usr/local"})
	}
	all = append(all, Bind{etc, "/etc"})
	for _, dir := range l.Dirs {
		all = append(all, Bind{"/" + dir, "/" + dir})
	}
	return all
}
