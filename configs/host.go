package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"torno/internal/paths"
	"torno/internal/trust"
	"torno/sandbox"
)

// CheckHost looks at what a configuration names on this machine. What it says can be wrong a moment later: it is for
// the operator, and no decision of a run rests on it.
func (c Config) CheckHost() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkMachine(r)
	c.checkOutboxes(r)
	return r.result()
}

// CheckMachine is CheckHost without the outboxes.
func (c Config) CheckMachine() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkMachine(r)
	return r.result()
}

// CheckOutboxes is what CheckHost says of the outboxes.
func (c Config) CheckOutboxes() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkOutboxes(r)
	return r.result()
}

// CheckApart compares the directories of the outboxes with each other and with the operator's, as they are written: it looks at none of them.
func (c Config) CheckApart() ([]Warning, error) {
	r := &report{noLines: true}
	c.resolvedOwn().checkDirectories(r)
	return r.result()
}

func (c *Config) checkOutboxes(r *report) {
	c.checkOwnFile(r)
	for i := range c.Outboxes {
		checkOutboxDirs(r, &c.Outboxes[i])
		checkViews(r, &c.Outboxes[i])
	}
	c.resolved().checkDirectories(r)
	c.checkAliases(r)
}

func (c *Config) checkMachine(r *report) {
	c.checkState(r)
	c.checkHeld(r)
	c.checkFiles(r)
	for _, p := range c.Profiles {
		if have := 1000 * int64(c.cpus); p.Limits.CPUs > have {
			r.problem("profiles."+p.Name+".limits.cpus", "%g are more than the %d of this machine",
				float64(p.Limits.CPUs)/1000, c.cpus)
		}
	}
	c.checkUIDs(r, "/etc/passwd", "/etc/subuid")
}

// IsPlain says whether the outbox and its roots lie where they are written, and not where links lead.
func (o *Outbox) IsPlain() bool {
	return !slices.ContainsFunc(slices.Concat([]string{o.Dir}, o.Allow, o.Read), func(dir string) bool { return target(dir) != dir })
}

// checkState: a directory that others may write gives them the journal and the control socket.
func (c *Config) checkState(r *report) {
	info, err := os.Lstat(c.State)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the watcher makes it
	case err != nil:
		r.problem("state", "cannot be looked at: %v", err)
	case !info.IsDir():
		r.problem("state", "%s is not a directory", c.State)
	case info.Mode().Perm()&0o077 != 0:
		r.problem("state", "%s is open to others (%04o); run: chmod 700 %s", c.State, info.Mode().Perm(), c.State)
	}
}

// checkOwnFile looks at what holds the configuration: a client that writes in an outbox could replace one that lies there, and with it
// what may be asked for. A root may hold it, since no request gets a directory that does.
func (c *Config) checkOwnFile(r *report) {
	for _, file := range c.Files() {
		for _, o := range c.Outboxes {
			if liesIn(filepath.Dir(file), o.Dir) {
				r.problem("outboxes."+o.Name+".dir", "the configuration %s lies in this outbox, and agents that write there could replace it; have it elsewhere", c.file)
			}
			for key, roots := range map[string][]string{"allow": o.Allow, "read": o.Read} {
				for i, root := range roots {
					if liesIn(filepath.Dir(file), root) {
						r.warn(fmt.Sprintf("outboxes.%s.%s[%d]", o.Name, key, i), "%s holds the configuration %s: a request for a directory that holds it is refused", root, file)
					}
				}
			}
		}
	}
}

// Files are the links on the way to the configuration and, last, the file itself. There are none without a file.
func (c Config) Files() []string {
	if c.file == "" {
		return nil
	}
	named, err := filepath.Abs(c.file)
	if err != nil {
		return nil // without a working directory the file was named in full, or not read
	}
	way, err := trust.Places().Way(named)
	if err != nil {
		return []string{named} // it is no longer what was read
	}
	return way
}

// target is where a path leads; a path that leads nowhere stays as it is.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// liesIn says whether a directory is another one, or lies below it, whatever they are called.
func liesIn(dir, other string) bool {
	there, err := os.Stat(other)
	if err != nil {
		return false
	}
	for dir = target(dir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, there) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// checkFiles is about the sockets, the programs, and the root file systems.
func (c *Config) checkFiles(r *report) {
	socket := func(key, path string) {
		if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			r.problem(key, "%s is not there; where a service makes it at boot, have the watcher's service wait for that: systemctl edit torno-watcher, with the lines [Unit], Wants=THAT.service and After=THAT.service", path)
		} else if err != nil {
			r.problem(key, "cannot be looked at: %v", err)
		} else if info.Mode().Type() != fs.ModeSocket {
			r.problem(key, "%s is not a socket", path)
		}
	}
	c.checkReach(r, socket)
	homes := allHomes()
	for _, p := range c.Profiles {
		checkProgramsHere(r, &p, homes)
		warnHidden(r, &p)
		for i, s := range p.Sockets {
			socket(fmt.Sprintf("profiles.%s.sockets[%d].host", p.Name, i), s.Host)
		}
		checkPlace(r, "profiles."+p.Name+".rootfs", p.RootFS)
	}
	checkProgram(r, "init", c.Init)
	checkProgram(r, "gateway.program", c.Gateway.Program)
}

// checkProgram is for a program that is named; others are found when they are needed.
func checkProgram(r *report, key, path string) {
	if path == "" {
		return
	}
	if info, err := os.Stat(path); err != nil {
		r.problem(key, "cannot be looked at: %v", err)
	} else if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		r.problem(key, "%s is not a program", path)
	}
}

// checkPlace is for a root file system that lies on this machine.
func checkPlace(r *report, key string, fs sandbox.RootFS) {
	form, path, placed := fs.Place()
	if !placed {
		return
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		r.problem(key, "cannot be looked at: %v", err)
	case form == "archive" && !info.Mode().IsRegular():
		r.problem(key, "%s is not a file", path)
	case form != "archive" && !info.IsDir():
		r.problem(key, "%s is not a directory", path)
	default:
		if err := trust.Places().Check(path); err != nil {
			r.problem(key, "%v; have it where only root and the watcher's user may write, and name it without links", err)
		}
	}
}

func checkOutboxDirs(r *report, o *Outbox) {
	key := "outboxes." + o.Name
	directory := func(key, dir string) {
		if info, err := os.Stat(dir); err != nil {
			r.problem(key, "cannot be looked at: %v", err)
		} else if !info.IsDir() {
			r.problem(key, "%s is not a directory", dir)
		}
	}
	directory(key+".dir", o.Dir)
	if info, err := os.Stat(o.Dir); err == nil && info.Mode().Perm()&0o002 != 0 {
		r.warn(key+".dir", "%s is writable for everybody, so that everybody is this parent; run: chmod o-w %s", o.Dir, o.Dir)
	}
	root := func(at, dir string) {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && paths.Within(o.Dir, dir) {
			r.warn(at, "%s is not there; until it is, requests for it are refused", dir) // perhaps the outbox is not mounted
			return
		}
		directory(at, dir)
	}
	for i, dir := range o.Allow {
		at := fmt.Sprintf("%s.allow[%d]", key, i)
		root(at, dir)
		warnHome(r, at, dir)
	}
	for i, dir := range o.Read {
		at := fmt.Sprintf("%s.read[%d]", key, i)
		root(at, dir)
		warnHome(r, at, dir)
	}
}

// warnHome finds roots that hold keys of a user.
func warnHome(r *report, key, root string) {
	for _, name := range []string{".ssh", ".aws", ".gnupg", ".kube", ".docker"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			r.warn(key, "%s holds %s, which requests could name too; choose a directory without it", root, name)
			return
		}
	}
}

// checkAliases finds roots through which an outbox has a second name. What a request may not name is compared by its path,
// so that a child could be given the outbox, and write requests as its parent.
func (c Config) checkAliases(r *report) {
	real := c.resolved()
	for i, o := range c.Outboxes {
		c.checkNames(r, "outboxes."+o.Name+".allow", o.Allow, real, real.Outboxes[i].Allow)
		c.checkNames(r, "outboxes."+o.Name+".read", o.Read, real, real.Outboxes[i].Read)
	}
}

// checkNames is for a list of roots and the directories to which their links lead.
func (c Config) checkNames(r *report, key string, roots []string, real *Config, targets []string) {
	for i, target := range targets {
		for j, o := range c.Outboxes {
			dir := real.Outboxes[j].Dir
			if paths.Within(target, dir) && roots[i]+dir[len(target):] != o.Dir {
				r.problem(fmt.Sprintf("%s[%d]", key, i), "%s holds outbox %s by another name than %s; write both without links",
					roots[i], o.Name, o.Dir)
			}
		}
	}
}

// resolved returns the configuration with the links in its directories resolved.
func (c Config) resolved() *Config {
	c.Outboxes = slices.Clone(c.Outboxes)
	for i := range c.Outboxes {
		o := &c.Outboxes[i]
		o.Dir, o.Allow, o.Read = target(o.Dir), slices.Clone(o.Allow), slices.Clone(o.Read)
		for _, list := range [][]string{o.Allow, o.Read} {
			for j := range list {
				list[j] = target(list[j])
			}
		}
	}
	return c.resolvedOwn()
}

// resolvedOwn returns the configuration with the operator's own places where links lead.
func (c Config) resolvedOwn() *Config {
	c.State = target(c.State)
	if !c.Gateway.Own() {
		c.Gateway.State = target(c.Gateway.State)
	}
	c.resolveSockets()
	return &c
}
