package configs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// host holds the facts about the machine and the environment that serve as defaults.
type host struct {
	getenv func(string) string
	cpus   int
}

// thisHost returns the host of this process.
func thisHost() host { return host{os.Getenv, runtime.NumCPU()} }

// newConfig returns a Config with the defaults that depend on no other key.
func newConfig(launchers launcher.List, cpus int) Config {
	return Config{
		cpus:       cpus,
		MaxRunning: 8,
		Queue:      1000,
		UIDs:       UIDs{First: 2_000_000_000, Count: 65_536},
		Mounts:     MountsAuto,
		Disk:       Disk{Floor: gib, FloorFiles: 10_000},
		Pool:       Pool{Size: PoolAuto, Idle: 15 * time.Minute, Most: 32},
		Log:        Log{LogAuto, LevelInfo},
		Retention: Retention{
			Age: 30 * day, Runs: 100_000, Size: gib, MaxRequestAge: 7 * day,
			Workspaces: KeptWorkspaces{Remove: RemoveMade, Age: 30 * day, Number: 1000, Size: 100 * gib},
		},
		Shutdown:  Shutdown{30 * time.Second, Drain},
		launchers: launchers,
		settings:  defaultSettings(launchers),
	}
}

func (c *Config) newProfile(name string) compile.Profile {
	return compile.Profile{
		Name:      name,
		Sandbox:   c.launchers[0].Name,
		AnswerMax: compile.DefaultAnswerMax,
		Limits: sandbox.Limits{
			Memory: 2 * gib, CPUs: 1000 * int64(min(2, c.cpus)), Pids: 512, OpenFiles: 4096, FileSize: gib,
			Tmp: 512 * mib, Home: 512 * mib, Shm: 64 * mib, Log: 16 * mib,
			Workspace: 16 * gib, WorkspaceFiles: 1_000_000,
		},
		Door:      &sandbox.Door{},
		Workspace: compile.WorkspaceDirect, Umask: 0o022, Attempts: 1,
	}
}

func newOutbox(name string) Outbox {
	return Outbox{Name: name, ReadAllowed: true, Busy: BusyRefuse, MaxRequestBytes: 4 * mib, Tree: Tree{Children: 32, Depth: 4}}
}

// complete fills in the defaults that depend on other keys or on the environment.
func (c *Config) complete(r *report, getenv func(string) string) {
	if len(c.Profiles) == 0 && !r.given("profiles") {
		c.Profiles = []compile.Profile{c.newProfile("default")}
	}
	c.Gateway.complete(r)
	for i := range c.Profiles {
		completeProfile(&c.Profiles[i], r)
		c.completeAgent(&c.Profiles[i])
		c.Gateway.completeDoor(&c.Profiles[i])
	}
	countSubagents(c.Profiles)
	for i := range c.Outboxes {
		c.completeOutbox(&c.Outboxes[i], r)
	}
	c.completeLaunchers(getenv)
	if c.State == "" {
		c.State = defaultState(c.Outboxes, getenv)
	}
}

func completeProfile(p *compile.Profile, r *report) {
	if p.RootFS.Image == "" && !r.given("profiles."+p.Name+".image") {
		p.RootFS.Host = true
	}
	p.Answer = p.AnswerMode()
	completeApprovals(p)
	completePrograms(p.Programs)
	for i, socket := range p.Sockets {
		p.Sockets[i].Target = cmp.Or(socket.Target, socket.Host)
	}
	t := &p.Timeout
	*t = compile.Timeouts{
		Default: cmp.Or(t.Default, within(5*time.Minute, t.Min, t.Max)),
		Min:     cmp.Or(t.Min, time.Second),
		Max:     cmp.Or(t.Max, max(time.Hour, t.Default, t.Min)),
	}
}

// within moves a default into its bounds. A bound of 0 is not given.
func within(d, low, high time.Duration) time.Duration {
	d = max(d, low)
	if high > 0 {
		d = min(d, high)
	}
	return d
}

func (c *Config) completeOutbox(o *Outbox, r *report) {
	key := "outboxes." + o.Name
	if len(o.Profiles) == 0 && !r.given(key+".profiles") && len(c.Profiles) == 1 {
		o.Profiles = []string{c.Profiles[0].Name}
	}
	if !r.given(key + ".max_running") {
		o.MaxRunning = c.MaxRunning
	}
	if !r.given(key + ".queue") {
		o.Queue = c.Queue
	}
	for i, m := range o.Paths {
		here := cmp.Or(m.Here, m.Parent)
		o.Paths[i] = compile.PathMap{Parent: m.Parent, Here: here, Engine: cmp.Or(m.Engine, here)}
	}
}

// defaultState returns the directory that the service manager made for us, or else a directory of the user's own, named
// after the only outbox. With several outboxes it returns "": no outbox can give the name, because adding one would
// lose the journal of the others.
func defaultState(outboxes []Outbox, getenv func(string) string) string {
	if made, _, _ := strings.Cut(getenv("STATE_DIRECTORY"), ":"); made != "" {
		return filepath.Clean(made)
	}
	base := getenv("XDG_STATE_HOME")
	if home := getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".local", "state")
	}
	if len(outboxes) != 1 || outboxes[0].Dir == "" || !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "torno", shortHash(outboxes[0].Dir))
}

// shortHash returns a short text that stands for a directory inside a name.
func shortHash(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}
