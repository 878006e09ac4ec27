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

// Gateway is the part of the configuration about the model gateway.
type Gateway struct {
	// State is the directory of a gateway that another program runs, such as the service manager. If it is "", the
	// watcher keeps a gateway itself.
	State   string
	Program string // the gateway program that the watcher starts; "" is model-gateway beside the watcher

	routes, prices *yaml.Node  // as written in the file; nil if there are none
	read           setup.Setup // the same, as the gateway understands them
}

// Own reports whether the watcher keeps a gateway process of its own.
func (g Gateway) Own() bool { return g.State == "" }

// Routes returns the gateway's routes, ordered by name.
func (g Gateway) Routes() []*route.Route { return g.read.Routes }

// Setup returns routes and prices in the form that the gateway reads, or nil if there are no routes.
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

// GatewayName is the name of the directory, inside the watcher's state directory, for the gateway that the watcher
// keeps.
const GatewayName = "gateway"

// GatewayState returns the directory with the gateway's control socket and doors.
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
		{"routes", tree{&g.routes, "the names of routes to their settings"}},
		{"prices", tree{&g.prices, "the names of routes to the prices of their models"}},
	}
}

// complete reads the routes and the prices, and reports mistakes in them.
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

// follows reports whether a problem is only the consequence of another one: a route with a wrong preset lacks
// everything.
func follows(p route.Problem, all []route.Problem) bool {
	name, key, _ := strings.Cut(p.Key, ".")
	return key != "preset" && slices.ContainsFunc(all, func(other route.Problem) bool { return other.Key == name+".preset" })
}

// mappingOf decodes a mapping as a YAML reader does, except that every key becomes a text.
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

// Credentials returns the files that hold the credentials of routes. For the login of an agent it returns the whole
// directory, because the agent renews its login under other file names. No child may see any of these places.
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

// credentials returns the files and the directories of Credentials in one list.
func (g Gateway) credentials() []string {
	files, dirs := g.Credentials()
	return append(files, dirs...)
}

// Route returns the route of this name, or nil.
func (g Gateway) Route(name string) *route.Route {
	for _, r := range g.read.Routes {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// names returns the names of all routes in the file, including routes with mistakes.
func (g *Gateway) names() (all []string) {
	for i := 0; g.routes != nil && i+1 < len(g.routes.Content); i += 2 {
		all = append(all, g.routes.Content[i].Value)
	}
	return all
}

// countSubagents makes every door count the spending of its subagent, if any profile bounds that spending. If none
// does, nothing is counted, because counts are kept for ever and a parent may name a new subagent in each request.
func countSubagents(profiles []compile.Profile) {
	bounded := slices.ContainsFunc(profiles, func(p compile.Profile) bool { return p.Door != nil && p.Door.Subagent != sandbox.Allowance{} })
	for _, p := range profiles {
		if p.Door != nil {
			p.Door.CountSubagent = bounded
		}
	}
}

// completeDoor sets the port of a profile's door, and environment variables that lead clients to the routes. A variable
// that the profile sets itself stays as it is.
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

// defaultPort is the port in a sandbox at which a child finds the gateway.
const defaultPort = 4180
