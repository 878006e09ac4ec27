package configs

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/gateway/setup"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// Gateway is what the configuration says of the model gateway.
type Gateway struct {
	// State is the directory of a gateway that another program runs, such as the service manager. With "" the watcher keeps a gateway itself.
	State   string
	Program string // the gateway program that the watcher starts; "" is model-gateway beside the watcher

	routes, prices *yaml.Node  // as they stand in the file; nil for none
	read           setup.Setup // what they say
}

// Own says whether the watcher keeps a gateway process of its own.
func (g Gateway) Own() bool { return g.State == "" }

// Routes are what the gateway has, in the order of their names.
func (g Gateway) Routes() []*route.Route { return g.read.Routes }

// Setup is routes and prices as the gateway reads them, or nil where there are no routes.
func (g Gateway) Setup() ([]byte, error) {
	if g.routes == nil {
		return nil, nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(object{{"routes", tree{to: &g.routes}}, {"prices", tree{to: &g.prices}}}.write()); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// GatewayName is the directory, in a watcher's state directory, of the gateway that it keeps.
const GatewayName = "gateway"

// GatewayState is the directory in which the gateway's control socket and its doors lie.
func (c Config) GatewayState() string {
	if c.Gateway.Own() {
		return filepath.Join(c.State, GatewayName)
	}
	return c.Gateway.State
}

func (g *Gateway) schema() object {
	return object{
		{"state", absPath{&g.State}},
		{"program", absPath{&g.Program}},
		{"routes", tree{&g.routes, "the names of routes to what is said of them"}},
		{"prices", tree{&g.prices, "the names of routes to the prices of their models"}},
	}
}

// complete reads what the trees say, and reports what they should not.
func (g *Gateway) complete(r *report) {
	var err error
	g.read, err = setup.Of(mappingOf(g.routes), mappingOf(g.prices))
	if wrong, ok := errors.AsType[*route.Error](err); ok {
		for _, p := range wrong.Problems {
			if !follows(p, wrong.Problems) {
				r.problem("gateway.routes."+p.Key, "%s", p.What)
			}
		}
	} else if wrong, ok := errors.AsType[*prices.Error](err); ok {
		r.problem("gateway.prices."+wrong.Key, "%s", wrong.Text)
	} else if err != nil {
		r.problem("gateway", "%v", err)
	}
}

// follows says whether a problem comes of another one: without its preset a route lacks everything.
func follows(p route.Problem, all []route.Problem) bool {
	name, key, _ := strings.Cut(p.Key, ".")
	return key != "preset" && slices.ContainsFunc(all, func(other route.Problem) bool { return other.Key == name+".preset" })
}

// mappingOf is what a reader of YAML makes of a mapping, but that every key is a text.
func mappingOf(n *yaml.Node) map[string]any {
	if n == nil {
		return nil
	}
	all, _ := anyOf(n).(map[string]any)
	return all
}

func anyOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			all[n.Content[i].Value] = anyOf(n.Content[i+1])
		}
		return all
	case yaml.SequenceNode:
		all := []any{}
		for _, inner := range n.Content {
			all = append(all, anyOf(inner))
		}
		return all
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value
	}
	return v
}

// Credentials are the files with credentials of routes, and where an agent keeps its login, the directory of that: a login is renewed
// under other names. No child may see any of them.
func (g Gateway) Credentials() (files, dirs []string) {
	for _, r := range g.Routes() {
		switch at := r.Credential; {
		case at.Path == "":
		case at.Kind == "claude" || at.Kind == "codex":
			dirs = append(dirs, filepath.Dir(at.Path))
		default:
			files = append(files, at.Path)
		}
	}
	return files, dirs
}

// credentials are all of these places.
func (g Gateway) credentials() []string {
	files, dirs := g.Credentials()
	return append(files, dirs...)
}

// Route finds one by its name, or returns nil.
func (g Gateway) Route(name string) *route.Route {
	for _, r := range g.read.Routes {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// names are those of the file's routes, also where one of them is wrong.
func (g *Gateway) names() (all []string) {
	for i := 0; g.routes != nil && i+1 < len(g.routes.Content); i += 2 {
		all = append(all, g.routes.Content[i].Value)
	}
	return all
}

// countSubagents has every door count for its subagent where a profile bounds what one may spend. Elsewhere there is nothing to count
// for: a parent may name a new subagent for each request, and what each has spent is kept for ever.
func countSubagents(profiles []compile.Profile) {
	bounded := slices.ContainsFunc(profiles, func(p compile.Profile) bool { return p.Door != nil && p.Door.Subagent != sandbox.Allowance{} })
	for _, p := range profiles {
		if p.Door != nil {
			p.Door.CountSubagent = bounded
		}
	}
}

// completeDoor gives a profile's door its port, and the environment what finds the routes. What the profile says of a variable stays.
func (g *Gateway) completeDoor(p *compile.Profile) {
	if p.Door == nil || len(p.Door.Routes) == 0 {
		p.Door = nil
		return
	}
	if p.Door.Port == 0 {
		p.Door.Port = defaultPort
	}
	var ways []route.Way
	for _, w := range p.Door.Routes {
		if r := g.Route(w.Name); r != nil {
			ways = append(ways, route.Way{Route: r, Prefix: w.Prefix})
		}
	}
	found := route.Environment(p.Door.Port, ways)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, said := p.Env[name]; said {
			continue
		}
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		p.Env[name] = found[name]
	}
}

// defaultPort is where the gateway is found in a sandbox.
const defaultPort = 4180
