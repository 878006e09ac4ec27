package configs

import (
	"fmt"
	"path"
	"slices"

	"torno/internal/engines"
	"torno/internal/paths"
)

// systemTrees are directories of the host's system. A request may name nothing that is, holds or lies in one of them.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
	"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker",
}

// commonDirs are directories that all users share. A request may name a directory below one, but not the whole of it.
var commonDirs = []string{"/", "/home", "/root", "/run", "/run/systemd", "/run/user", "/tmp", "/var", "/var/lib", "/var/run", "/var/tmp"}

// checkDirectories reports directories that lie within one another and must not. It compares the paths as they are
// written; CheckHost also compares them with their links resolved.
func (c *Config) checkDirectories(r *report) {
	for i := range c.Outboxes {
		o := &c.Outboxes[i]
		key := "outboxes." + o.Name
		c.checkDir(r, key+".dir", o.Dir)
		for _, other := range c.Outboxes[:i] {
			if o.Dir != "" && other.Dir != "" && paths.Nested(o.Dir, other.Dir) {
				r.problem(key+".dir", "%s is, holds or lies in outbox %s, %s: each parent has a directory of its own", o.Dir, other.Name, other.Dir)
			}
		}
		for j, root := range o.Allow {
			c.checkRoot(r, fmt.Sprintf("%s.allow[%d]", key, j), o, root)
		}
		for j, root := range o.Read {
			c.checkRoot(r, fmt.Sprintf("%s.read[%d]", key, j), o, root)
		}
		c.warnShared(r, key, i)
	}
}

// checkRoot checks one root of an outbox.
func (c *Config) checkRoot(r *report, key string, o *Outbox, root string) {
	c.checkDir(r, key, root)
	if root == o.Dir {
		r.problem(key, "%s is the outbox itself; name a directory in it, such as %s", root, path.Join(root, "workspaces"))
	}
	for _, other := range c.Outboxes {
		if other.Name != o.Name && other.Dir != "" && paths.Within(other.Dir, root) {
			r.problem(key, "%s lies in outbox %s, which belongs to another parent", root, other.Name)
		}
	}
}

// checkDir checks one directory that a parent reaches: an outbox or a root.
func (c *Config) checkDir(r *report, key, dir string) {
	if dir == "" {
		return
	}
	if !isTidy(dir) {
		r.problem(key, "%q is not an absolute path", dir)
		return
	}
	if slices.Contains(commonDirs, dir) {
		r.problem(key, "%s belongs to everybody; name a directory in it", dir)
		return
	}
	for _, tree := range systemTrees {
		if paths.Nested(tree, dir) {
			r.problem(key, "%s is, holds or lies in %s of this machine's system", dir, tree)
			return
		}
	}
	if c.State != "" && paths.Nested(c.State, dir) {
		r.problem(key, "%s is, holds or lies in the state directory %s", dir, c.State)
	}
	if c.Gateway.State != "" && paths.Nested(c.Gateway.State, dir) {
		r.problem(key, "%s is, holds or lies in the gateway's directory %s", dir, c.Gateway.State)
	}
	for _, credential := range c.Gateway.credentials() {
		switch {
		case paths.Within(credential, dir):
			r.problem(key, "%s is or lies in %s, where a credential of the gateway is", dir, credential)
		case paths.Within(dir, credential) && !paths.Within(c.State, credential):
			r.warn(key, "%s holds %s, where a credential of the gateway is: a request that names it, or a directory that holds it, is refused", dir, credential)
		}
	}
	for _, socket := range c.sockets() {
		if paths.Nested(dir, socket) {
			r.problem(key, "%s is, holds or lies at %s: a program that reaches this socket is root on this machine", dir, socket)
			return
		}
	}
}

// warnShared warns of allowed roots that two outboxes share: either parent can change the work of the other's children.
func (c *Config) warnShared(r *report, key string, i int) {
	o := &c.Outboxes[i]
	for _, other := range c.Outboxes[:i] {
		for j, root := range o.Allow {
			if slices.ContainsFunc(other.Allow, func(theirs string) bool { return paths.Nested(root, theirs) }) {
				r.warn(fmt.Sprintf("%s.allow[%d]", key, j), "%s is shared with outbox %s: each parent can change the work of the other parent's children", root, other.Name)
			}
		}
	}
}

// runDir is Torno's own directory: on the host root's watcher keeps the locks of outboxes there, and in a sandbox it
// holds the files of the run.
const runDir = "/run/torno"

// sockets returns the places where engines listen, and runDir. Sandboxes are kept from all of them, also from a place
// where no engine listens today.
func (c *Config) sockets() []string {
	all := append(engines.Places(), runDir)
	for _, socket := range c.EngineSockets() {
		if socket != "" && !slices.Contains(all, socket) {
			all = append([]string{socket}, all...)
		}
	}
	return all
}
