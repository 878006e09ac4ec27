package compile

import (
	"path"
	"slices"
	"strings"

	"torno/internal/paths"
	"torno/sandbox"
)

// Programs is a directory or a file of the operator's that every child of a profile finds, read-only.
type Programs struct {
	Host string // where it is on this machine
	As   string // where the child finds it
}

// localDir is the one part of the sandbox's own system in which programs may lie: the host's programs are shown without it.
const localDir = "/usr/local"

// ReservedForPrograms says why no programs may appear to the child at a path, or "". Unlike a request's mounts they may lie in
// /usr/local, and not in a place where the child keeps files of its own.
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

// mount is how programs appear. The host's programs are read-only, and nothing can be made in them to carry a mount: so what
// lies in /usr/local arrives through one view, which takes the place of the whole directory.
func (p Programs) mount(root sandbox.RootFS) sandbox.Mount {
	m := sandbox.Mount{Source: sandbox.Source{Base: p.Host, Rel: "."}, Target: p.As, Prefix: p.As, Programs: true}
	if root.Host && paths.Within(localDir, p.As) {
		m.Prefix = localDir
	}
	return m
}

// SearchPath is where a child looks for commands, unless the profile's Env says otherwise: first in the profile's programs, in their order, and then in the system. It
// is decided by names alone. Programs called bin are such a directory themselves, programs in a directory called bin are a
// file of one, and all others have one, or are one.
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
