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

// programs is a place of this machine that children find: its path, or a mapping that also says where they find it.
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

// completePrograms: a child finds programs where they are, unless it is told otherwise.
func completePrograms(all []compile.Programs) {
	for i, p := range all {
		all[i].As = cmp.Or(p.As, p.Host)
	}
}

// checkPrograms is about where programs lie, as it is written, and where children find them.
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

// placeInTheWay says why the programs at an index of a profile's list cannot appear where they should, or "".
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

// keyDirs hold keys of a user, in the user's home.
var keyDirs = []string{".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh"}

// keyFiles are keys of a user.
var keyFiles = []string{".credentials.json", ".git-credentials", ".netrc"}

// homeFiles lie in homes, and in directories where agents and tools of a user keep what they know.
var homeFiles = []string{".bash_history", ".bashrc", ".config", ".profile", ".zshrc", "auth.json"}

// noPrograms are trees of this machine in which programs have no place.
var noPrograms = []string{
	"/boot", "/dev", "/etc", "/proc", "/sys", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker",
}

// notForChildren says why a place of this machine is not shown as programs, whatever lies there, or "".
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
			return fmt.Sprintf("is, holds or lies at %s, through which one is root on this machine", socket)
		}
	}
	return c.inReach(host)
}

// inReach says how requests reach a place, or "".
func (c *Config) inReach(host string) string {
	for _, o := range c.Outboxes {
		if why := o.reaches(host); why != "" {
			return fmt.Sprintf("lies in %s, where a parent can put others in its place", why)
		}
		for _, root := range slices.Concat([]string{o.Dir}, o.Allow, o.Read) {
			if root != "" && paths.Nested(root, host) {
				return fmt.Sprintf("is, holds or lies in %s, which requests of outbox %s reach; have it apart", root, o.Name)
			}
		}
	}
	return ""
}

// commandHere are the places on this machine in which a child of a profile looks for a command.
func commandHere(p *compile.Profile, name string) (all []string) {
	for dir := range strings.SplitSeq(cmp.Or(p.Env["PATH"], p.SearchPath()), ":") {
		if here := whereHere(p, path.Join(dir, name)); here != "" {
			all = append(all, here)
		}
	}
	return all
}

// whereHere is where a path of a child lies on this machine, or "" if it is not shown.
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
