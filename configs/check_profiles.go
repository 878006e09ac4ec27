package configs

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"torno/internal/engines"
	"torno/internal/gateway/route"
	"torno/internal/paths"
	"torno/sandbox/compile"
)

func (c *Config) checkProfile(r *report, p *compile.Profile) {
	key := "profiles." + p.Name
	c.checkRootFS(r, key, p)
	checkCommand(r, key, p)
	checkTimeouts(r, key+".timeout", p.Timeout)
	checkEnv(r, key+".env", p.Env)
	checkArtifacts(r, key, p.Artifacts)
	if l := p.Limits; l.Tmp+l.Home+l.Shm > l.Memory {
		r.warn(key+".limits", "tmp, home and shm hold %s together and count as memory, but the limit of memory is %s",
			showSize(l.Tmp+l.Home+l.Shm), showSize(l.Memory))
	}
	for i, guarantee := range p.AtLeast {
		if slices.Index(p.AtLeast, guarantee) < i {
			r.problem(fmt.Sprintf("%s.at_least[%d]", key, i), "%s is here twice", guarantee)
		}
	}
}

func checkCommand(r *report, key string, p *compile.Profile) {
	for i, element := range p.Command {
		at := fmt.Sprintf("%s.command[%d]", key, i)
		if err := compile.CheckPlaceholders(element); err != nil {
			r.problem(at, "%v", err)
		}
		if i == 0 && element == "" {
			r.problem(at, "is empty; it is the program")
		}
		if p.Answer == compile.AnswerNone && strings.Contains(element, "{{.AnswerFile}}") {
			r.problem(at, "names {{.AnswerFile}}, but answer is none")
		}
	}
	if i := compile.TaskMayBeOption(p.Command); i >= 0 {
		r.warn(fmt.Sprintf("%s.command[%d]", key, i), `a task that begins with "-" may be read as an option here; put "--" before it, or use {{.TaskFile}}`)
	}
}

// checkArtifacts reports patterns that no file in a workspace can match.
func checkArtifacts(r *report, key string, patterns []string) {
	for i, pattern := range patterns {
		at := fmt.Sprintf("%s.artifacts[%d]", key, i)
		if _, err := path.Match(pattern, ""); err != nil {
			r.problem(at, "%q is no pattern: * stands for a part of a name, and [ begins a class of characters", pattern)
			continue
		}
		if name := strings.TrimSuffix(pattern, "/"); !fs.ValidPath(name) || name == "." {
			r.problem(at, "%q is not a path in a workspace; write one such as report.pdf, report/ or out/*.json", pattern)
		} else if name != pattern && strings.ContainsAny(name, `*?[\`) {
			r.problem(at, "%q has a pattern and ends with a slash; a slash at the end means a directory with everything below it", pattern)
		}
	}
}

func checkTimeouts(r *report, key string, t compile.Timeouts) {
	switch {
	case t.Min > t.Max:
		r.problem(key+".min", "%s is more than max %s", showSpan(t.Min), showSpan(t.Max))
	case t.Default < t.Min || t.Default > t.Max:
		r.problem(key+".default", "%s is not between min %s and max %s", showSpan(t.Default), showSpan(t.Min), showSpan(t.Max))
	}
}

// secretName matches the names of variables that usually hold a secret, which no child should have (I7).
var secretName = regexp.MustCompile(`(?i)(secret|token|passw|api_?key|private_?key|credential)`)

// countOfTokens matches NAME=VALUE where the variable is a number of tokens that a model may use, such as
// CLAUDE_CODE_MAX_OUTPUT_TOKENS. Such a variable is no secret.
var countOfTokens = regexp.MustCompile(`(?i)^[a-z_]*_tokens=[0-9]{1,9}$`)

func checkEnv(r *report, key string, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if secretName.MatchString(name) && env[name] != "" && env[name] != route.NoKey && !countOfTokens.MatchString(name+"="+env[name]) {
			r.warn(key+"."+name, "looks like a secret: every child of this profile can read it and write it into its answer; a socket can give access without one")
		}
	}
}

func (c *Config) checkSockets(r *report, p *compile.Profile) {
	for i, socket := range p.Sockets {
		at := fmt.Sprintf("profiles.%s.sockets[%d]", p.Name, i)
		if socket.Host == "" {
			r.missing(at+".host", "is missing; it is the socket's path on this machine")
			continue
		}
		if slices.Contains(c.EngineSockets(), socket.Host) || engines.IsSocket(socket.Host) {
			r.problem(at+".host", "%s is the socket of an engine: a program that reaches it is root on this machine", socket.Host)
		}
		if c.ownsPath(socket.Host) {
			r.problem(at+".host", "%s is Torno's own: a child could give the operator's commands", socket.Host)
		}
		if why := compile.Reserved(socket.Target); why != "" {
			r.problem(at+".target", "%s is not possible: %s", socket.Target, why)
		}
		for _, earlier := range p.Sockets[:i] {
			if paths.Nested(earlier.Target, socket.Target) {
				r.problem(at+".target", "%s is in the way of %s", socket.Target, earlier.Target)
			}
			if socket.Port != 0 && earlier.Port == socket.Port {
				r.problem(at+".port", "%d leads to %s already", socket.Port, earlier.Host)
			}
		}
		for _, o := range c.Outboxes {
			if why := o.reaches(socket.Host); why != "" {
				r.problem(at+".host", "%s lies in %s, where a parent can replace it", socket.Host, why)
			}
		}
	}
}

// ownsPath reports whether a path lies in a directory that belongs to the watcher or its gateway.
func (c *Config) ownsPath(path string) bool {
	return slices.ContainsFunc([]string{c.State, c.Gateway.State, runDir}, func(dir string) bool { return dir != "" && paths.Within(dir, path) })
}

// reaches names the directory through which the outbox's parent can write at the path. It returns "" if the parent
// cannot write there.
func (o *Outbox) reaches(p string) string {
	if paths.Within(o.Dir, p) {
		return "outbox " + o.Name
	}
	for _, root := range o.Allow {
		if paths.Within(root, p) {
			return "the allowed root " + root + " of outbox " + o.Name
		}
	}
	return ""
}
