package configs

import (
	"fmt"
	"path"
	"slices"

	"torno/internal/engines"
	"torno/internal/paths"
)

// systemTrees are the host's own. No request may name anything that is, holds or lies in one of them.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
	"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker",
}

// commonDirs are shared by all users: a directory below one is fine, the whole of one is not.
var commonDirs = []string{"/", "/home", "/root", "/run", "/run/systemd", "/run/user", "/tmp", "/var", "/var/lib", "/var/run", "/var/tmp"}

// checkDirectories looks at how the directories lie to one another. Paths are compared as they are written; CheckHost
// compares where they lead.
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

// checkRoot is for one root of an outbox.
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

// checkDir is for every directory that a parent reaches.
func (c *Config) checkDir(r *report, key, dir string) {
	if dir == "" {
		return
	}
	if !isTidy(dir) {
		r.problem(key, "%q is no absolute path", dir)
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
			r.problem(key, "%s is, holds or lies at %s, through which one is root on this machine", dir, socket)
			return
		}
	}
}

// warnShared says which parents can see each other's work.
func (c *Config) warnShared(r *report, key string, i int) {
	o := &c.Outboxes[i]
	for _, other := range c.Outboxes[:i] {
		for j, root := range o.Allow {
			if slices.ContainsFunc(other.Allow, func(theirs string) bool { return paths.Nested(root, theirs) }) {
				r.warn(fmt.Sprintf("%s.allow[%d]", key, j), "%s is shared with outbox %s: either parent can change what the other's children work on", root, other.Name)
			}
		}
	}
}

// runDir is where the watcher itself listens, as in the sandbox.
const runDir = "/run/torno"

// sockets are the places of engines, and our own. They are kept from sandboxes whether or not an engine listens there today.
func (c *Config) sockets() []string {
	all := append(engines.Places(), runDir)
	for _, socket := range c.EngineSockets() {
		if socket != "" && !slices.Contains(all, socket) {
			all = append([]string{socket}, all...)
		}
	}
	return all
}
