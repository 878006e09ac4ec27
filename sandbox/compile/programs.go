package compile

import (
	"path"
	"slices"
	"strings"

	"torno/internal/paths"
	"torno/sandbox"
)

// Programs is an operator's directory or file that every child of a profile finds, read-only.
type Programs struct {
	Host string // its path on this machine
	As   string // its path in the child
}

// localDir is the only part of the sandbox's own system where programs may lie, because the host's programs are shown
// without it.
const localDir = "/usr/local"

// ReservedForPrograms returns the reason why no programs may appear to the child at target; "" if they may. Unlike a
// request's mounts, programs may lie in /usr/local, but not where the child keeps its own files.
func ReservedForPrograms(target string) string {
	if paths.Within(localDir, target) {
		return ""
	}
	for _, dir := range slices.Concat(privateDirs, []string{relativeWorkspace, relativeContext}) {
		if paths.Nested(dir, target) {
			return "it is, holds or lies in " + dir + ", which is for files of the child and its parent"
		}
	}
	return Reserved(target)
}

// mount returns the mount that shows the programs to the child. With the host's root file system, nothing can be made
// in it to carry a mount, because it is read-only. So everything in /usr/local arrives through one view, which replaces
// the whole directory.
func (p Programs) mount(root sandbox.RootFS) sandbox.Mount {
	m := sandbox.Mount{Source: sandbox.Source{Base: p.Host, Rel: "."}, Target: p.As, Prefix: p.As, Programs: true}
	if root.Host && paths.Within(localDir, p.As) {
		m.Prefix = localDir
	}
	return m
}

// SearchPath returns the child's PATH, unless the profile's Env sets PATH itself: first the profile's programs, in
// their order, then the system. It goes by names alone. Programs named bin (or sbin) are a search directory themselves.
// For programs inside a directory named bin, that directory is searched. For all others, their subdirectory bin and
// they themselves are searched.
func (p Profile) SearchPath() string {
	var all []string
	for _, given := range p.Programs {
		switch parent := path.Dir(given.As); {
		case isBin(given.As):
			all = append(all, given.As)
		case isBin(parent):
			all = append(all, parent)
		default:
			all = append(all, path.Join(given.As, "bin"), given.As)
		}
	}
	all = append(all, strings.Split(baseEnv["PATH"], ":")...)
	var once []string
	for _, dir := range all {
		if !slices.Contains(once, dir) && !strings.Contains(dir, ":") {
			once = append(once, dir)
		}
	}
	return strings.Join(once, ":")
}

func isBin(dir string) bool { return path.Base(dir) == "bin" || path.Base(dir) == "sbin" }
