package configs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/paths"
	"torno/sandbox/compile"
)

// programs is a place of this machine that children see. It is written as a path, or as a mapping that also says at
// which path the children see it.
type programs struct{ to *compile.Programs }

func (v programs) read(r *report, key string, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		v.mapping().read(r, key, n)
		return
	}
	absPath{&v.to.Host}.read(r, key, n)
}

func (v programs) write() *yaml.Node {
	if v.to.As == "" || v.to.As == v.to.Host {
		return absPath{&v.to.Host}.write()
	}
	return v.mapping().write()
}

func (v programs) mapping() object {
	return object{{"host", absPath{&v.to.Host}}, {"as", absPath{&v.to.As}}}
}

// completePrograms fills in the path at which children see programs: by default the same path as on this machine.
func completePrograms(all []compile.Programs) {
	for i, p := range all {
		all[i].As = cmp.Or(p.As, p.Host)
	}
}

// checkPrograms checks where the programs lie on this machine, by their paths as written, and where children see them.
func (c *Config) checkPrograms(r *report, p *compile.Profile) {
	for i, given := range p.Programs {
		at := fmt.Sprintf("profiles.%s.programs[%d]", p.Name, i)
		host, as := at, at
		if r.given(at + ".host") {
			host = at + ".host"
		}
		if r.given(at + ".as") {
			as = at + ".as"
		}
		if given.Host == "" {
			r.missing(at+".host", "is missing; it is the path of the programs on this machine")
			continue
		}
		if why := c.notForChildren(given.Host); why != "" {
			r.problem(host, "%s %s", given.Host, why)
		}
		if why := placeInTheWay(p, i); why != "" {
			r.problem(as, "%s is not possible: %s", given.As, why)
		}
	}
}

// placeInTheWay returns why children cannot see the i-th programs of a profile at the wanted path, or "" if they can.
func placeInTheWay(p *compile.Profile, i int) string {
	as := p.Programs[i].As
	if why := compile.ReservedForPrograms(as); why != "" {
		if paths.Within("/usr", as) && p.RootFS.Host {
			return why + "; children find it there anyway"
		}
		return why + "; name another place with as"
	}
	for _, earlier := range p.Programs[:i] {
		if paths.Nested(earlier.As, as) {
			return "it is in the way of " + earlier.As
		}
	}
	for _, socket := range p.Sockets {
		if paths.Nested(socket.Target, as) {
			return "the socket " + socket.Target + " is there"
		}
	}
	return ""
}

// keyDirs are the names of directories in a user's home that hold keys.
var keyDirs = []string{".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh"}

// keyFiles are the names of files that hold a user's keys.
var keyFiles = []string{".credentials.json", ".git-credentials", ".netrc"}

// homeFiles are names that are typical of home directories, and of directories where a user's agents and tools keep
// their data.
var homeFiles = []string{".bash_history", ".bashrc", ".config", ".profile", ".zshrc", "auth.json"}

// noPrograms are directories of this machine that never serve as programs for children.
var noPrograms = []string{
	"/boot", "/dev", "/etc", "/proc", "/sys", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker",
}

// notForChildren returns why a place of this machine may not be shown to children as programs, whatever lies there. It
// returns "" if it may.
func (c *Config) notForChildren(host string) string {
	switch {
	case slices.Contains([]string{"/home", "/root"}, host):
		return "is a home directory, or holds them; name the directory of the programs in it"
	case slices.Contains(commonDirs, host):
		return "belongs to everybody; name the directory of the programs in it"
	}
	for name := range strings.SplitSeq(host, "/") {
		if slices.Contains(keyDirs, name) {
			return "is or lies in " + name + ", where users have their keys"
		}
	}
	for _, tree := range noPrograms {
		if paths.Nested(tree, host) {
			return "is, holds or lies in " + tree + ", which is no place for programs"
		}
	}
	for _, credential := range c.Gateway.credentials() {
		if paths.Nested(credential, host) {
			return "is, holds or lies in " + credential + ", where a credential of the gateway is"
		}
	}
	for _, own := range []string{c.State, c.Gateway.State} {
		if own != "" && paths.Nested(own, host) {
			return "is, holds or lies in " + own + ", which is Torno's own"
		}
	}
	for _, socket := range c.sockets() {
		if paths.Nested(host, socket) {
			return fmt.Sprintf("is, holds or lies at %s: a program that reaches this socket is root on this machine", socket)
		}
	}
	return c.inReach(host)
}

// inReach returns how requests reach a place, or "" if they cannot.
func (c *Config) inReach(host string) string {
	for _, o := range c.Outboxes {
		if why := o.reaches(host); why != "" {
			return fmt.Sprintf("lies in %s, where a parent can replace it", why)
		}
		for _, root := range slices.Concat([]string{o.Dir}, o.Allow, o.Read) {
			if root != "" && paths.Nested(root, host) {
				return fmt.Sprintf("is, holds or lies in %s, which requests of outbox %s reach; move it out of there", root, o.Name)
			}
		}
	}
	return ""
}

// commandHere returns the files on this machine that a child of the profile tries, in this order, to find a command.
func commandHere(p *compile.Profile, name string) (all []string) {
	for dir := range strings.SplitSeq(cmp.Or(p.Env["PATH"], p.SearchPath()), ":") {
		if here := whereHere(p, path.Join(dir, name)); here != "" {
			all = append(all, here)
		}
	}
	return all
}

// whereHere returns the path on this machine of a child's path, or "" if children do not see that place.
func whereHere(p *compile.Profile, child string) string {
	for _, given := range p.Programs {
		if rel, ok := paths.Below(given.As, child); ok {
			return path.Join(given.Host, rel)
		}
	}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"} {
		if paths.Within(dir, child) && !paths.Within("/usr/local", child) {
			return child
		}
	}
	return ""
}
