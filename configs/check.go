package configs

import (
	"fmt"
	"path/filepath"
	"slices"

	"torno/internal/paths"
	"torno/sandbox/compile"
)

// check reports every mistake in a complete configuration that can be found without looking at the machine.
func (c *Config) check(r *report) {
	c.checkInstallation(r)
	for i := range c.Profiles {
		c.checkProfile(r, &c.Profiles[i])
		c.checkAgent(r, &c.Profiles[i])
		checkApprovals(r, &c.Profiles[i])
		c.checkSockets(r, &c.Profiles[i])
		c.checkPlaces(r, &c.Profiles[i])
		c.checkPrograms(r, &c.Profiles[i])
		c.checkDoor(r, &c.Profiles[i])
	}
	if len(c.Outboxes) == 0 {
		r.missing("outboxes", "there is no outbox; name at least one directory that a parent shares with the watcher")
	}
	for i := range c.Outboxes {
		c.checkOutbox(r, &c.Outboxes[i])
	}
	c.checkDirectories(r)
}

// spareUIDs counts the uids that the runs leave over: a start, a reload or a reopening tries one sandbox, and the pool makes
// one ahead.
const spareUIDs = 2

// checkInstallation checks the keys that apply to all outboxes.
func (c *Config) checkInstallation(r *report) {
	switch {
	case c.State == "" && (len(c.Outboxes) == 0 || c.Outboxes[0].Dir == ""):
		// State is derived from the outbox's directory, which is missing too. checkOutbox reports that.
	case c.State == "" && len(c.Outboxes) > 1:
		r.missing("state", "is missing; with more than one outbox it cannot be derived, write a directory for the journal")
	case c.State == "":
		r.missing("state", "is missing, and neither STATE_DIRECTORY nor XDG_STATE_HOME nor HOME says where it could be")
	case !isTidy(c.State):
		r.problem("state", "%q is not an absolute path", c.State)
	}
	c.checkLaunchers(r)
	if last := c.UIDs.Last(); last > maxUID {
		r.problem("uids", "the range ends with %d, the last possible uid is %d", last, int64(maxUID))
	}
	if least := int64(c.MaxRunning) + spareUIDs; c.UIDs.Count < least {
		r.problem("uids.count", "%d uids are too few for max_running %d: each sandbox has its own, so it takes %d", c.UIDs.Count, c.MaxRunning, least)
	}
}

func (c *Config) checkOutbox(r *report, o *Outbox) {
	key := "outboxes." + o.Name
	if o.Dir == "" {
		r.missing(key+".dir", "is missing; name the directory that the parent shares with the watcher")
	}
	if len(o.Allow) == 0 {
		r.missing(key+".allow", "is missing or empty: no request could be served; name the directories below which workspaces may lie")
	}
	if o.MaxRunning > c.MaxRunning {
		r.warn(key+".max_running", "%d is more than the %d of all outboxes together", o.MaxRunning, c.MaxRunning)
	}
	c.checkOffers(r, key, o)
	checkPaths(r, key, o.Paths)
	for i, uid := range o.Owners {
		if slices.Index(o.Owners, uid) < i {
			r.problem(fmt.Sprintf("%s.owners[%d]", key, i), "%d is here twice", uid)
		}
	}
}

// checkOffers checks the list of profiles that an outbox offers.
func (c *Config) checkOffers(r *report, key string, o *Outbox) {
	if len(o.Profiles) == 0 {
		r.missing(key+".profiles", "is missing or empty; of several profiles say which are on offer here, the default one first")
	}
	var known []string
	for _, p := range c.Profiles {
		known = append(known, p.Name)
	}
	for i, name := range o.Profiles {
		at := fmt.Sprintf("%s.profiles[%d]", key, i)
		switch {
		case !slices.Contains(known, name) && r.misspelt("profiles"):
			// The key profiles is misspelt, and that is already reported.
		case !slices.Contains(known, name):
			r.problem(at, "there is no profile %q%s", name, suggest(name, known))
		case slices.Index(o.Profiles, name) < i:
			r.problem(at, "%q is here twice", name)
		}
	}
}

// checkPaths reports a path that would have two meanings in one of its views (parent, here, engine).
func checkPaths(r *report, key string, paths []compile.PathMap) {
	for i, m := range paths {
		at := fmt.Sprintf("%s.paths[%d]", key, i)
		if m.Parent == "" {
			r.missing(at+".parent", "is missing; it is the directory as requests name it")
			continue
		}
		for _, earlier := range paths[:i] {
			switch {
			case earlier.Parent == m.Parent:
				r.problem(at+".parent", "%s is mapped twice", m.Parent)
			case earlier.Parent != "" && earlier.Here == m.Here && earlier.Engine != m.Engine:
				r.problem(at+".engine", "%s is already %s for the engine", m.Here, earlier.Engine)
			}
		}
	}
}

func isTidy(path string) bool {
	tidy, err := paths.Tidy(path)
	return err == nil && tidy == path && filepath.IsAbs(path)
}
