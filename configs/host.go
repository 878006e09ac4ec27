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

// CheckHost looks on this machine at everything that the configuration names. Its findings can be out of date a moment
// later. They are for the operator only; no decision about a run rests on them.
func (c Config) CheckHost() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkMachine(r)
	c.checkOutboxes(r)
	return r.result()
}

// CheckMachine does the part of CheckHost that has nothing to do with outboxes.
func (c Config) CheckMachine() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkMachine(r)
	return r.result()
}

// CheckOutboxes does the part of CheckHost about the outboxes.
func (c Config) CheckOutboxes() ([]Warning, error) {
	r := &report{noLines: true}
	c.checkOutboxes(r)
	return r.result()
}

// CheckApart compares the paths of the outboxes' directories with each other and with the operator's directories. It
// takes the outboxes' paths as they are written and does not look at those directories.
func (c Config) CheckApart() ([]Warning, error) {
	r := &report{noLines: true}
	c.resolvedOwn().checkDirectories(r)
	return r.result()
}

func (c *Config) checkOutboxes(r *report) {
	c.checkOwnFile(r)
	for i := range c.Outboxes {
		checkOutboxDirs(r, &c.Outboxes[i], c.local)
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

// IsPlain reports whether the paths of the outbox and of its roots are free of links.
func (o *Outbox) IsPlain() bool {
	return !slices.ContainsFunc(slices.Concat([]string{o.Dir}, o.Allow, o.Read), func(dir string) bool { return target(dir) != dir })
}

// checkState reports a state directory that is open to other users: it would give them the journal and the control
// socket.
func (c *Config) checkState(r *report) {
	info, err := os.Lstat(c.State)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the watcher will make it
	case err != nil:
		r.problem("state", "cannot be looked at: %v", err)
	case !info.IsDir():
		r.problem("state", "%s is not a directory", c.State)
	case info.Mode().Perm()&0o077 != 0:
		r.problem("state", "%s is open to others (%04o); run: chmod 700 %s", c.State, info.Mode().Perm(), c.State)
	}
}

// checkOwnFile reports a configuration that lies in an outbox: a client that writes there could replace it, and so
// change what it may ask for. A root may hold the configuration, with a warning, because a request for a directory that
// holds it is refused.
func (c *Config) checkOwnFile(r *report) {
	for _, file := range c.Files() {
		for _, o := range c.Outboxes {
			if liesIn(filepath.Dir(file), o.Dir) {
				r.problem("outboxes."+o.Name+".dir", "the configuration %s lies in this outbox, and agents that write there could replace it; move it to another place", c.file)
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

// Files returns the links on the way to the configuration file and, last, the file itself. Without a file it returns
// nil.
func (c Config) Files() []string {
	if c.file == "" {
		return nil
	}
	named, err := filepath.Abs(c.file)
	if err != nil {
		return nil // there is no working directory, so a file with a relative path was never read
	}
	way, err := trust.Places().Way(named)
	if err != nil {
		return []string{named} // the way to the file is no longer as it was when the file was read
	}
	return way
}

// target resolves the links in a path. A path that leads nowhere stays as it is.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// liesIn reports whether dir is the directory other, or lies below it. It compares the directories themselves and not
// their names.
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

// checkFiles checks the sockets, the programs and the root file systems that the configuration names.
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

// checkProgram checks a program that the configuration names. Other programs are looked for when they are needed.
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

// checkPlace checks a root file system that lies on this machine, in a directory or an archive.
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
			r.problem(key, "%v; put it where only root and the watcher's user may write, and name it without links", err)
		}
	}
}

// checkOutboxDirs checks the directories of an outbox. toMake means that watcher run makes a missing outbox, and missing
// allowed roots in it.
func checkOutboxDirs(r *report, o *Outbox, toMake bool) {
	key := "outboxes." + o.Name
	missing := func(dir string) bool {
		_, err := os.Lstat(dir)
		return errors.Is(err, fs.ErrNotExist)
	}
	directory := func(key, dir string) {
		if info, err := os.Stat(dir); err != nil {
			r.problem(key, "cannot be looked at: %v", err)
		} else if !info.IsDir() {
			r.problem(key, "%s is not a directory", dir)
		}
	}
	if !toMake || !missing(o.Dir) {
		directory(key+".dir", o.Dir)
	}
	if info, err := os.Stat(o.Dir); err == nil && info.Mode().Perm()&0o002 != 0 {
		r.warn(key+".dir", "%s is writable for every user, so every user can act as this parent; run: chmod o-w %s", o.Dir, o.Dir)
	}
	root := func(at, dir string, toMake bool) {
		switch {
		case !paths.Within(o.Dir, dir) || !missing(dir):
			directory(at, dir)
		case !toMake:
			r.warn(at, "%s is not there; until it is, requests for it are refused", dir) // the outbox is perhaps not mounted yet
		}
	}
	for i, dir := range o.Allow {
		at := fmt.Sprintf("%s.allow[%d]", key, i)
		root(at, dir, toMake)
		warnHome(r, at, dir)
	}
	for i, dir := range o.Read {
		at := fmt.Sprintf("%s.read[%d]", key, i)
		root(at, dir, false)
		warnHome(r, at, dir)
	}
}

// warnHome warns of a root that holds a user's keys.
func warnHome(r *report, key, root string) {
	for _, name := range []string{".ssh", ".aws", ".gnupg", ".kube", ".docker"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			r.warn(key, "%s holds %s, which requests could name too; choose a directory without it", root, name)
			return
		}
	}
}

// checkAliases reports roots through which an outbox has a second name. Requests are refused by comparing paths.
// Through a second name a child could be given the outbox itself, and could then write requests as its parent.
func (c Config) checkAliases(r *report) {
	real := c.resolved()
	for i, o := range c.Outboxes {
		c.checkNames(r, "outboxes."+o.Name+".allow", o.Allow, real, real.Outboxes[i].Allow)
		c.checkNames(r, "outboxes."+o.Name+".read", o.Read, real, real.Outboxes[i].Read)
	}
}

// checkNames does the work of checkAliases for one list of roots. targets are the same roots with links resolved.
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

// resolved returns the configuration with the links in all its directories resolved.
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

// resolvedOwn returns the configuration with links resolved in the operator's own places only: the state directory, the
// gateway's directory and the engines' sockets.
func (c Config) resolvedOwn() *Config {
	c.State = target(c.State)
	if !c.Gateway.Own() {
		c.Gateway.State = target(c.Gateway.State)
	}
	c.resolveSockets()
	return &c
}
