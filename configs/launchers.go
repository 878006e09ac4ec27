package configs

import (
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// SandboxAuto is the value of a profile's key sandbox that leaves the choice to the watcher. The watcher takes the
// first launcher of the list that fits the profile on this machine. Whichever it takes, at_least holds.
const SandboxAuto = "auto"

// Bare returns a configuration without profiles and outboxes, with the default settings of each launcher.
func Bare(launchers launcher.List, getenv func(string) string) Config {
	c := newConfig(launchers, runtime.NumCPU())
	c.completeLaunchers(getenv)
	return c
}

// Launchers returns the launchers that the configuration knows.
func (c Config) Launchers() launcher.List { return c.launchers }

// SettingsOf returns the settings of one launcher.
func (c Config) SettingsOf(name string) launcher.Settings { return c.settings[name] }

// Set changes the value of one launcher's key. Earlier copies of the configuration keep the old value.
func (c *Config) Set(name, key string, value any) {
	c.settings = maps.Clone(c.settings)
	c.settings[name] = c.settings[name].With(key, value)
}

// EngineSockets returns the sockets of engines that the configuration names or has by default.
func (c Config) EngineSockets() (all []string) {
	for _, kind := range c.launchers {
		all = append(all, kind.Sockets(c.settings[kind.Name])...)
	}
	return all
}

// MovedSocket compares the engines' sockets with those in another configuration. It returns the key of the first socket
// that differs, with both values, or "".
func (c Config) MovedSocket(to Config) (key, was, is string) {
	c.eachKey(func(kind *launcher.Kind, k launcher.Key, at string) {
		before, after := c.settings[kind.Name].Socket(k.Name), to.settings[kind.Name].Socket(k.Name)
		if k.Form == launcher.Address && before != after && key == "" {
			key, was, is = at, before, after
		}
	})
	return key, was, is
}

// Unsuited returns why a launcher cannot give a sandbox this root file system, and what to write instead. It returns ""
// if the launcher can.
func (c Config) Unsuited(name string, fs sandbox.RootFS) string {
	if kind := c.launchers.Find(name); kind != nil {
		return kind.Unsuited(fs)
	}
	return ""
}

// launcherSchema returns one object for each launcher that has keys.
func (c *Config) launcherSchema() (all object) {
	for _, kind := range c.launchers {
		var own object
		for _, key := range kind.Keys {
			own = append(own, field{key.Name, setting{key, c.settings[kind.Name]}})
		}
		if len(own) > 0 {
			all = append(all, field{kind.Name, own})
		}
	}
	return all
}

// setting is the value of one key of a launcher.
type setting struct {
	key launcher.Key
	to  launcher.Settings
}

func (v setting) read(r *report, key string, n *yaml.Node) {
	if v.key.Form == launcher.Size {
		bytes := v.to.Size(v.key.Name)
		size{&bytes, v.key.Min, v.key.Max}.read(r, key, n)
		v.to[v.key.Name] = bytes
		return
	}
	given := v.to.Text(v.key.Name)
	v.texts(&given).read(r, key, n)
	v.to[v.key.Name] = given
}

func (v setting) write() *yaml.Node {
	if v.key.Form == launcher.Size {
		bytes := v.to.Size(v.key.Name)
		return size{&bytes, v.key.Min, v.key.Max}.write()
	}
	given := v.to.Text(v.key.Name)
	return v.texts(&given).write()
}

// texts returns the reader and writer for a value that is not a size.
func (v setting) texts(to *string) value {
	if v.key.Form == launcher.Program {
		return absPath{to}
	}
	return text{to, int(v.key.Max)}
}

func defaultSettings(launchers launcher.List) map[string]launcher.Settings {
	all := map[string]launcher.Settings{}
	for _, kind := range launchers {
		all[kind.Name] = kind.Defaults()
	}
	return all
}

func (c *Config) completeLaunchers(getenv func(string) string) {
	for _, kind := range c.launchers {
		kind.Complete(c.settings[kind.Name], getenv)
	}
}

// eachKey calls do for every key of every launcher.
func (c *Config) eachKey(do func(kind *launcher.Kind, key launcher.Key, at string)) {
	for _, kind := range c.launchers {
		for _, key := range kind.Keys {
			do(kind, key, kind.Name+"."+key.Name)
		}
	}
}

// checkLaunchers checks the form of the launchers' texts and addresses.
func (c *Config) checkLaunchers(r *report) {
	c.eachKey(func(kind *launcher.Kind, key launcher.Key, at string) {
		given := c.settings[kind.Name].Text(key.Name)
		switch key.Form {
		case launcher.Address:
			if socket, local := strings.CutPrefix(given, launcher.Scheme); !local || !isTidy(socket) {
				source := ""
				if key.Env != "" && !r.given(at) {
					source = " (from " + key.Env + ")"
				}
				r.problem(at, "%q%s %s", given, source, key.Wrong)
			}
		case launcher.Text:
			if given != "" && key.Match != nil && !key.Match.MatchString(given) {
				r.problem(at, "%q %s", given, key.Wrong)
			}
		}
	})
}

// checkReach looks on this machine for the launchers' programs, and for the sockets of the launchers that profiles
// name. For a profile with `auto` the watcher looks for a socket only when it chooses the launcher.
func (c *Config) checkReach(r *report, socket func(key, path string)) {
	c.eachKey(func(kind *launcher.Kind, key launcher.Key, at string) {
		settings := c.settings[kind.Name]
		named := slices.ContainsFunc(c.Profiles, func(p compile.Profile) bool { return p.Sandbox == kind.Name })
		switch {
		case key.Form == launcher.Program:
			checkProgram(r, at, settings.Text(key.Name))
		case key.Form == launcher.Address && named:
			socket(at, settings.Socket(key.Name))
		}
	})
}

// resolveSockets resolves the links in the paths of sockets.
func (c *Config) resolveSockets() {
	c.eachKey(func(kind *launcher.Kind, key launcher.Key, _ string) {
		if key.Form != launcher.Address {
			return
		}
		if real, err := filepath.EvalSymlinks(c.settings[kind.Name].Socket(key.Name)); err == nil {
			c.Set(kind.Name, key.Name, launcher.Scheme+real)
		}
	})
}
