package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// maxRoutes bounds the routes that a profile may open.
const maxRoutes = 16

// doorSchema returns the schema of a profile's door.
func doorSchema(p *compile.Profile) object {
	d := cmp.Or(p.Door, &sandbox.Door{})
	return object{
		{"routes", list[sandbox.Route]{&d.Routes, maxRoutes, func(w *sandbox.Route) value { return way{w} }, "; write a list of routes"}},
		{"port", onlyIf{number[uint16]{&d.Port, runfile.MinPort, 65535}, d.Port != 0}},
		{"record", onlyIf{content{&d.Record}, d.Record}},
		{"budget", object{
			{"run", allowance(&d.Run)},
			{"subagent", allowance(&d.Subagent)},
			{"tree", allowance(&d.Tree)},
			{"outbox_day", allowance(&d.OutboxDay)},
		}},
	}
}

func allowance(a *sandbox.Allowance) object {
	return object{
		{"input_tokens", limit{&a.InputTokens, false}},
		{"output_tokens", limit{&a.OutputTokens, false}},
		{"requests", limit{&a.Requests, false}},
		{"money", limit{&a.Money, true}},
		{"parallel", limit{&a.Parallel, false}},
		{"keep_for_last", onlyIf{number[int]{&a.KeepForLast, 0, 99}, a.KeepForLast != 0}},
	}
}

// way is a route of a door: its name, or {route, prefix}.
type way struct{ to *sandbox.Route }

func (v way) read(r *report, key string, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		v.keys().read(r, key, n)
		return
	}
	text{&v.to.Name, 64}.read(r, key, n)
}

func (v way) keys() object {
	return object{{"route", text{&v.to.Name, 64}}, {"prefix", text{&v.to.Prefix, 260}}}
}

func (v way) write() *yaml.Node {
	if v.to.Prefix == "" {
		return argumentNode(v.to.Name)
	}
	return v.keys().write()
}

// content is the switch that has conversations recorded. Its value is the word content and not true, because one day
// there may be a choice to record less.
type content struct{ to *bool }

func (v content) read(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Value != "content" {
		r.problem(key, "%s cannot be recorded; write content, or leave the key out", kindOf(n))
		return
	}
	*v.to = true
}

func (v content) write() *yaml.Node {
	if !*v.to {
		return nil
	}
	return argumentNode("content")
}

// limit is one limit of a budget. Nil means no limit.
type limit struct {
	to    **int64
	money bool
}

// maxAmount is small enough that the sum of a few limits fits in an int64.
const maxAmount = 1_000_000_000_000_000

func (v limit) read(r *report, key string, n *yaml.Node) {
	var amount int64
	if v.money {
		money, err := budget.ParseMoney(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			r.problem(key, "%s is no amount of money; write 12, 0.25 or \"1.50\"", kindOf(n))
			return
		}
		amount = int64(money)
	} else {
		before := len(r.problems)
		number[int64]{&amount, 0, maxAmount}.read(r, key, n)
		if len(r.problems) > before {
			return
		}
	}
	*v.to = &amount
}

func (v limit) write() *yaml.Node {
	switch {
	case *v.to == nil:
		return nil
	case v.money:
		return argumentNode(budget.Money(**v.to).String())
	}
	return number[int64]{to: *v.to}.write()
}

// checkDoor compares a profile's door with the gateway's routes and with the profile's sockets.
func (c *Config) checkDoor(r *report, p *compile.Profile) {
	key := "profiles." + p.Name
	if p.Door == nil {
		for _, name := range []string{"port", "budget", "record"} {
			if r.given(key + "." + name) {
				r.problem(key+"."+name, "there are no routes for it; write routes: with a route of gateway.routes")
			}
		}
		return
	}
	for i, w := range p.Door.Routes {
		at := fmt.Sprintf("%s.routes[%d]", key, i)
		c.checkWay(r, at, w)
		for _, earlier := range p.Door.Routes[:i] {
			switch {
			case earlier.Prefix == w.Prefix && w.Prefix == "":
				r.problem(at, "%s and %s have no prefix; all but one need one, as in {route: %s, prefix: /%s}", earlier.Name, w.Name, w.Name, w.Name)
			case earlier.Prefix == w.Prefix:
				r.problem(at+".prefix", "%s leads to %s already", w.Prefix, earlier.Name)
			}
		}
	}
	for i, socket := range p.Sockets {
		if socket.Port == p.Door.Port {
			r.problem(fmt.Sprintf("%s.sockets[%d].port", key, i), "%d is the gateway's port; write another port: for the gateway, or another port here", socket.Port)
		}
	}
	c.checkMoney(r, key, p.Door)
}

func (c *Config) checkWay(r *report, at string, w sandbox.Route) {
	names := c.Gateway.names()
	switch {
	case w.Name == "":
		r.problem(at, "names no route of gateway.routes")
	case len(names) == 0:
		r.problem(at, "there is no route %q: gateway.routes has none", w.Name)
	case !slices.Contains(names, w.Name):
		r.problem(at, "there is no route %q%s", w.Name, suggest(w.Name, names))
	case w.Prefix != "" && !route.IsPrefix(w.Prefix):
		r.problem(at+".prefix", "%.80q is not a prefix such as /%s", w.Prefix, w.Name)
	}
}

// checkMoney reports limits on money for routes without prices: the gateway would refuse every request, because it
// knows no price for it.
func (c *Config) checkMoney(r *report, key string, d *sandbox.Door) {
	var unpriced []string
	for _, w := range d.Routes {
		if found := c.Gateway.Route(w.Name); found != nil && found.API != route.Plain && len(c.Gateway.read.Prices[w.Name]) == 0 {
			unpriced = append(unpriced, w.Name)
		}
	}
	if len(unpriced) == 0 {
		return
	}
	for _, scope := range []struct {
		name string
		of   sandbox.Allowance
	}{{"run", d.Run}, {"subagent", d.Subagent}, {"tree", d.Tree}, {"outbox_day", d.OutboxDay}} {
		if scope.of.Money != nil {
			r.problem(key+".budget."+scope.name+".money", "every request of %s would be refused: there are no prices; write gateway.prices.%s",
				strings.Join(unpriced, ", "), unpriced[0])
		}
	}
}
