package configs

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// LocalOptions hold the flags of a watcher without a configuration file. It has one outbox and one profile.
type LocalOptions struct {
	Dir        string   // the outbox
	Allow      []string // empty: Dir/workspaces
	Read       []string
	Image      string // an image, or a path as in the key rootfs; "" takes the host's own programs
	Pull       bool   // fetch the image if it is missing
	State      string
	MaxRunning int      // 0 is the default
	Command    []string // empty: the shell runs the task's text
	Sandbox    string   // "" is auto
	Accept     []string // limits that the operator does without
	Programs   []string // places of this machine that children see
	Packages   []string // children get packages from these Registries, through the gateway
	Agent      *LocalAgent
}

// Local makes the configuration of a local outbox. Relative paths start at the working directory.
func Local(launchers launcher.List, o LocalOptions) (Config, []Warning, error) {
	return localOn(thisHost(), launchers, o)
}

func localOn(host host, launchers launcher.List, o LocalOptions) (Config, []Warning, error) {
	if o.Dir == "" {
		return Config{}, nil, errors.New("name the outbox: watcher run --dir DIR")
	}
	if err := o.absolute(); err != nil {
		return Config{}, nil, err
	}
	c := newConfig(launchers, host.cpus)
	c.local = true
	profile := c.newProfile("default")
	profile.RootFS, profile.Command = sandbox.RootFS{Host: o.Image == "", Image: o.Image, Pull: o.Pull}, o.Command
	profile.Sandbox = cmp.Or(o.Sandbox, SandboxAuto)
	if o.Agent != nil {
		o.Agent.fill(&profile)
	}
	for _, host := range o.Programs {
		profile.Programs = append(profile.Programs, compile.Programs{Host: host})
	}
	c.MaxRunning = cmp.Or(o.MaxRunning, c.MaxRunning)
	for _, key := range o.Accept {
		c.Accept = append(c.Accept, sandbox.GuaranteeKey(key))
	}
	routes := map[string]any{}
	ways, err := openRegistries(routes, o.Packages)
	if err != nil {
		return Config{}, nil, err
	}
	profile.Door.Routes = append(profile.Door.Routes, ways...)
	outbox := newOutbox("local-" + shortHash(o.Dir))
	outbox.Dir, outbox.Allow, outbox.Read = o.Dir, o.Allow, o.Read
	if len(o.Allow) == 0 {
		outbox.Allow = []string{filepath.Join(o.Dir, "workspaces")}
	}
	c.State, c.Profiles, c.Outboxes = o.State, []compile.Profile{profile}, []Outbox{outbox}
	if o.Agent != nil {
		c.State = cmp.Or(c.State, defaultState(c.Outboxes, host.getenv))
		routes[o.Agent.Name] = o.Agent.Route(cmp.Or(o.Agent.KeyFile, c.KeyFile(o.Agent.Name)))
	}
	if len(routes) > 0 {
		c.Gateway.routes = &yaml.Node{}
		if err := c.Gateway.routes.Encode(routes); err != nil {
			return Config{}, nil, err
		}
	}
	c.complete(&report{}, host.getenv)
	warnings, err := c.Validate()
	if err != nil {
		return Config{}, warnings, err
	}
	return c, warnings, nil
}

// absolute makes every path of the options absolute.
func (o *LocalOptions) absolute() error {
	paths := []*string{&o.Dir}
	if o.State != "" {
		paths = append(paths, &o.State)
	}
	o.Allow, o.Read, o.Programs = slices.Clone(o.Allow), slices.Clone(o.Read), slices.Clone(o.Programs)
	for _, list := range [][]string{o.Allow, o.Read, o.Programs} {
		for i := range list {
			paths = append(paths, &list[i])
		}
	}
	for _, p := range paths {
		if *p == "" {
			return errors.New("the name of a directory is empty")
		}
		absolute, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("make %q absolute: %w", *p, err)
		}
		*p = absolute
	}
	return nil
}
