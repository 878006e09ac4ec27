package configs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"torno/internal/launcher"
)

// InitialOptions hold the choices for a first configuration.
type InitialOptions struct {
	Dir    string // the outbox
	State  string // "" takes the directory from the environment
	Agents []LocalAgent

	Packages []string // children get packages from these Registries, through the gateway
}

// Initial writes a first configuration: one outbox, with a profile for each agent and one for the shell. The text is
// short, so that the operator reads it, and leaves out every default. Relative paths start at the working directory.
func Initial(launchers launcher.List, o InitialOptions) ([]byte, Config, error) {
	return initialOn(thisHost(), launchers, o)
}

func initialOn(host host, launchers launcher.List, o InitialOptions) ([]byte, Config, error) {
	places := LocalOptions{Dir: o.Dir, State: o.State}
	if err := places.absolute(); err != nil {
		return nil, Config{}, err
	}
	state := cmp.Or(places.State, defaultState([]Outbox{{Dir: places.Dir}}, host.getenv))
	if state == "" {
		return nil, Config{}, errors.New("there is no place for the watcher's state; name one with --state")
	}
	file := initialFile{
		Version: 1, State: state, Profiles: map[string]initialProfile{},
		Outboxes: map[string]initialOutbox{"main": {Dir: places.Dir, Allow: []string{filepath.Join(places.Dir, "workspaces")}}},
	}
	offers, err := file.add(o.Agents, o.Packages)
	if err != nil {
		return nil, Config{}, err
	}
	main := file.Outboxes["main"]
	main.Profiles = offers
	file.Outboxes["main"] = main
	text := bytes.NewBufferString(initialHead)
	encoder := yaml.NewEncoder(text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(file), encoder.Close()); err != nil {
		return nil, Config{}, fmt.Errorf("write the configuration: %w", err)
	}
	c, _, err := parse(launchers, &report{lines: make(map[string]int)}, text.Bytes(), host)
	return text.Bytes(), c, err
}

const initialHead = `# A first configuration, by watcher init. configs/examples/full.yaml explains every key; watcher check prints this one with its
# defaults and with the guarantees that are enforced here.
`

// initialFile is a configuration with few keys. It is a type of its own so that the keys come in a good order for
// reading.
type initialFile struct {
	Version  int                       `yaml:"version"`
	State    string                    `yaml:"state"`
	Gateway  *initialGateway           `yaml:"gateway,omitempty"`
	Profiles map[string]initialProfile `yaml:"profiles"`
	Outboxes map[string]initialOutbox  `yaml:"outboxes"`
}

type initialGateway struct {
	Routes map[string]any `yaml:"routes"`
}

type initialProfile struct {
	Description string            `yaml:"description"`
	Sandbox     string            `yaml:"sandbox"`
	RootFS      string            `yaml:"rootfs"`
	Agent       string            `yaml:"agent,omitempty"`
	Model       string            `yaml:"model,omitempty"`
	Messages    bool              `yaml:"messages,omitempty"`
	Routes      []initialWay      `yaml:"routes,omitempty"`
	Programs    []initialPrograms `yaml:"programs,omitempty"`
	Command     []string          `yaml:"command,omitempty,flow"`
	Timeout     map[string]string `yaml:"timeout,omitempty,flow"`
}

type initialWay struct {
	Route  string `yaml:"route"`
	Prefix string `yaml:"prefix"`
}

type initialPrograms struct {
	Host string `yaml:"host"`
	As   string `yaml:"as"`
}

type initialOutbox struct {
	Dir      string   `yaml:"dir"`
	Allow    []string `yaml:"allow,flow"`
	Profiles []string `yaml:"profiles,flow"`
}

// add adds a profile and a route for each agent and a profile for the shell, and opens the registries to all profiles.
// It returns the names of the profiles, the default first.
func (f *initialFile) add(agents []LocalAgent, packages []string) (offers []string, err error) {
	routes := map[string]any{}
	opened, err := openRegistries(routes, packages)
	if err != nil {
		return nil, err
	}
	var ways []initialWay
	for _, way := range opened {
		ways = append(ways, initialWay{way.Name, way.Prefix})
	}
	for _, agent := range agents {
		profile := initialProfile{
			Description: agent.Name + ", one task in, an answer out", Sandbox: SandboxAuto, RootFS: "host", Agent: agent.Name, Model: agent.Name, Messages: agent.canHear(),
			Command: agent.Command, Timeout: map[string]string{"default": "15m", "max": "2h"}, Routes: ways,
		}
		for _, p := range agent.Programs {
			profile.Programs = append(profile.Programs, initialPrograms{Host: p.Host, As: p.As})
		}
		f.Profiles[agent.Name] = profile
		routes[agent.Name] = agent.Route(Config{State: f.State}.KeyFile(agent.Name))
		offers = append(offers, agent.Name)
	}
	f.Profiles["shell"] = initialProfile{
		Description: "the task is a shell command, with this machine's own programs", Sandbox: SandboxAuto, RootFS: "host",
		Command: []string{"/bin/sh", "-c", "{{.Task}}"}, Routes: ways,
	}
	if len(routes) > 0 {
		f.Gateway = &initialGateway{Routes: routes}
	}
	return append(offers, "shell"), nil
}
