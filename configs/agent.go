package configs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"torno/internal/agent"
	"torno/internal/gateway/route"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// model is a profile's model: ROUTE, ROUTE/MODEL, or MODEL. The text before the first slash is a route if the gateway
// has a route of that name; otherwise it is part of the model's name.
type model struct{ of *compile.Profile }

func (v model) read(r *report, key string, n *yaml.Node) { text{&v.of.Model, 256}.read(r, key, n) }

func (v model) write() *yaml.Node {
	return argumentNode(strings.Trim(v.of.ModelRoute+"/"+v.of.Model, "/"))
}

// completeAgent splits the profile's model into route and model, and opens that route for the profile.
func (c *Config) completeAgent(p *compile.Profile) {
	name, rest, _ := strings.Cut(p.Model, "/")
	if p.Agent == "" || !slices.Contains(c.Gateway.names(), name) {
		return
	}
	p.ModelRoute, p.Model = name, rest
	if !slices.ContainsFunc(p.Door.Routes, func(to sandbox.Route) bool { return to.Name == name }) {
		p.Door.Routes = append([]sandbox.Route{{Name: name}}, p.Door.Routes...)
	}
}

// modelName matches the names that a model may have.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$`)

// checkAgent checks the keys of a profile that depend on its agent, and that the agent reaches a model.
func (c *Config) checkAgent(r *report, p *compile.Profile) {
	key := "profiles." + p.Name
	if p.Agent == "" {
		if p.Messages {
			r.problem(key+".messages", "there is no agent to take messages; write agent: with one of %s", strings.Join(agent.Names(), ", "))
		}
		if p.Model != "" {
			r.problem(key+".model", "there is no agent for it; write agent: with one of %s", strings.Join(agent.Names(), ", "))
		}
		return
	}
	if p.Answer == compile.AnswerStdout {
		r.problem(key+".answer", "an agent's standard output reports its actions, and its adapter writes the answer into the file; leave this key out, or write none")
	}
	if p.Model != "" && !modelName.MatchString(p.Model) {
		r.problem(key+".model", "%.80q is not the name of a model", p.Model)
	}
	if p.Stdin {
		r.problem(key+".stdin", "the adapter uses the agent's standard input; leave this key out")
	}
	c.checkSpeech(r, key, p)
}

// checkSpeech reports an agent without a route that speaks one of its APIs. A profile with sockets and no routes
// passes: a socket may lead to a model.
func (c *Config) checkSpeech(r *report, key string, p *compile.Profile) {
	speaks := agent.Find(p.Agent).Speaks
	able := func(to *route.Route) bool { return to != nil && slices.Contains(speaks, string(to.API)) }
	if p.Door != nil && slices.ContainsFunc(p.Door.Routes, func(way sandbox.Route) bool { return able(c.Gateway.Route(way.Name)) }) {
		return
	}
	if p.Door == nil && len(p.Sockets) > 0 {
		return
	}
	for _, known := range c.Gateway.Routes() {
		if able(known) {
			r.problem(key+".agent", "%s reaches no model; write model: %s or model: %s/MODEL", p.Agent, known.Name, known.Name)
			return
		}
	}
	r.problem(key+".agent", "%s reaches no model; write gateway.routes with a route that speaks %s, and model: with its name", p.Agent, strings.Join(speaks, " or "))
}

// LocalAgent is the agent of a watcher without a configuration file. It has one route to its model, named as the agent.
type LocalAgent struct {
	Name     string
	Model    string   // "" leaves the choice to the agent
	Command  []string // empty: the agent's program, found in PATH
	Programs []compile.Programs
	Route    func(keyFile string) map[string]any // makes the route to the model; keyFile holds the agent's key
	KeyFile  string                              // the file with the key; "" is Config.KeyFile, in the state directory
}

// The default and the maximum timeout of a LocalAgent.
const (
	agentTime    = 15 * time.Minute
	maxAgentTime = 2 * time.Hour
)

func (a *LocalAgent) fill(p *compile.Profile) {
	p.Agent, p.Model = a.Name, strings.TrimSuffix(a.Name+"/"+a.Model, "/")
	p.Messages = a.canHear()
	p.Programs = append(p.Programs, a.Programs...)
	p.Timeout.Default, p.Timeout.Max = agentTime, maxAgentTime
	if len(p.Command) == 0 {
		p.Command = a.Command
	}
}

// canHear reports whether the agent takes its parent's messages only if the profile asks for them. A profile that Torno
// makes itself, without an operator's word on it, then asks for them.
func (a *LocalAgent) canHear() bool {
	known := agent.Find(a.Name)
	return known != nil && known.CanHear
}

// KeyFile returns where a watcher without a configuration file keeps an agent's key, for the gateway.
func (c Config) KeyFile(agent string) string {
	return filepath.Join(c.State, GatewayName, agent+".key")
}
