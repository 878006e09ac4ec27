package compile

import (
	"path"
	"slices"
	"strings"

	"torno/delegation"
	"torno/internal/paths"
	"torno/sandbox"
)

// systemDirs lists the parts of the child's file tree that are ours. No path of a request may be one, hold one or lie
// in one. /var/run is listed because in most images it is a link to /run.
var systemDirs = []string{
	"/proc", "/sys", "/dev", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/run/torno", "/var/run",
}

// privateDirs lists the child's own bounded file systems. Parents do work below /tmp and below a home. So a mount may
// lie in one of them, but may not take its place.
var privateDirs = []string{"/tmp", sandbox.Home}

// layMounts decides where in the child each mount appears.
func (c *compiler) layMounts() *delegation.Refusal {
	for i, p := range append([]askedPath{c.workspace}, c.context...) {
		if why := c.reserved(p.target); why != "" {
			return p.refuse("Path is reserved inside the sandbox: ", why)
		}
		c.spec.Mounts = append(c.spec.Mounts, c.mount(p, i == 0))
	}
	if refusal := c.copyWorkspace(&c.spec.Mounts[0]); refusal != nil {
		return refusal
	}
	for _, p := range c.profile.Programs {
		c.spec.Mounts = append(c.spec.Mounts, p.mount(c.profile.RootFS))
	}
	slices.SortFunc(c.spec.Mounts, func(a, b sandbox.Mount) int { return strings.Compare(a.Target, b.Target) })
	mergePrefixes(c.spec.Mounts)
	return nil
}

// copiesIn is the directory of the outbox that holds the private workspaces of subagents.
const copiesIn = "workspaces"

// copyWorkspace replaces the workspace by a copy, if the profile says so. No copy is needed if the request names the
// directory that is already the subagent's own.
func (c *compiler) copyWorkspace(m *sandbox.Mount) *delegation.Refusal {
	rel := path.Join(copiesIn, c.req.SubagentID.String())
	here := path.Join(c.policy.Dir, rel)
	if c.profile.Workspace != WorkspaceCopy || here == c.workspace.here {
		return nil
	}
	if _, ok := outermost(c.policy.Allow, here); !ok || c.policy.kept(here) != "" || c.policy.notForWriting(here) != "" {
		return c.workspace.refuse("Workspace path cannot be copied: ",
			"profile "+c.profile.Name+" gives each child a copy in "+copiesIn+" of the outbox, which the outbox's operator has to allow for workspaces")
	}
	original := *m
	c.spec.CopyOf = &original
	m.Source, m.Engine, m.Allowed = sandbox.Source{Base: c.policy.Dir, Rel: rel}, "", c.policy.forWriting(here)
	if engine := c.policy.engine(here); engine != here {
		m.Engine = engine
	}
	return nil
}

func (c *compiler) mount(p askedPath, workspace bool) sandbox.Mount {
	base := p.root
	if paths.Within(c.policy.Dir, p.here) {
		base = c.policy.Dir
	}
	rel, _ := paths.Below(base, p.here)
	m := sandbox.Mount{Source: sandbox.Source{Base: base, Rel: rel}, Target: p.target, Prefix: c.prefix(p), Workspace: workspace, Allowed: c.policy.forWriting(p.here)}
	if engine := c.policy.engine(p.here); engine != p.here {
		m.Engine = engine
	}
	return m
}

// Reserved returns the reason why no path of a request or of an operator may appear to the child at target; "" if it
// may.
func Reserved(target string) string {
	for _, dir := range systemDirs {
		if paths.Nested(dir, target) {
			return "it is, holds or lies in " + dir + " of the sandbox's own system"
		}
	}
	for _, dir := range privateDirs {
		if paths.Within(target, dir) {
			return "it is or holds " + dir + ", which is the sandbox's own"
		}
	}
	return ""
}

// reserved returns the reason why a request's path may not appear at target. Unlike Reserved, it also knows the
// profile's sockets and programs.
func (c *compiler) reserved(target string) string {
	for _, p := range c.profile.Programs {
		if paths.Nested(p.As, target) {
			return "programs of profile " + c.profile.Name + " are there"
		}
	}
	for _, socket := range c.profile.Sockets {
		if paths.Nested(socket.Target, target) {
			return "a socket of profile " + c.profile.Name + " is there"
		}
	}
	return Reserved(target)
}

// prefix returns the parent's view of the root that holds the place. So everything below one root arrives through one
// view. If that view would collide with the sandbox's own system, prefix returns the place's own target.
func (c *compiler) prefix(p askedPath) string {
	prefix := relativeContext
	switch {
	case path.IsAbs(p.text):
		prefix = c.policy.rootFor(p)
	case p.target == relativeWorkspace:
		prefix = relativeWorkspace
	}
	if c.reserved(prefix) != "" {
		return p.target
	}
	return prefix
}

// rootFor returns the parent's view of the root that holds a place, as far as a map shows it.
func (p Policy) rootFor(found askedPath) string {
	m, _ := longest(p.Paths, found.target, func(m PathMap) string { return m.Parent })
	if m.Parent == "" {
		return found.root
	}
	if rel, ok := paths.Below(m.here(), found.root); ok {
		return path.Join(m.Parent, rel)
	}
	return m.Parent
}

// mergePrefixes gives nested prefixes the outermost of them. It compares every prefix with every other, because the
// mounts are sorted by target, and their prefixes need not be.
func mergePrefixes(mounts []sandbox.Mount) {
	for i := range mounts {
		for _, other := range mounts {
			if paths.Within(other.Prefix, mounts[i].Prefix) {
				mounts[i].Prefix = other.Prefix
			}
		}
	}
}
