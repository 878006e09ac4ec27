package metrics

import (
	"context"
	"regexp"
	"strings"
)

// codeForm is the form of the gateway's codes. It is checked because a gateway that a child has taken over may say
// anything.
var codeForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// mostCodes bounds the codes of a route. An honest gateway has fewer.
const mostCodes = 64

// Route is the traffic of one route of the model gateway, over all runs since the gateway began.
type Route struct {
	Name          string // the name in the configuration; "" for requests that found no route
	Requests      int64
	Input, Output int64            // tokens
	Money         float64          // in the currency of the prices
	Refused       map[string]int64 // how many requests were refused or cut off, by the gateway's code
}

// writeRoutes writes the traffic of the gateway's routes. While the gateway does not answer, it writes nothing.
func (m *Metrics) writeRoutes(ctx context.Context, to *strings.Builder) {
	if m.source.Routes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askBudget)
	defer cancel()
	routes, err := m.source.Routes(ctx)
	if err != nil {
		m.source.Log.Debug("the numbers of the model gateway are missing", "error", err)
		return
	}
	requests := newFamily("counter", "gateway_requests_total", "Requests to the model gateway, including refused requests.", "route")
	tokens := newFamily("counter", "gateway_tokens_total", "Tokens that the gateway's budgets were charged.", "direction", "route")
	money := newFamily("counter", "gateway_money_total", "Money that the gateway's budgets were charged, in the currency of its prices.", "route")
	refused := newFamily("counter", "gateway_refused_total", "Requests that the gateway refused or cut off, by its codes.", "code", "route")
	for _, r := range routes {
		name := among(m.source.RouteNames, r.Name)
		requests.add(float64(r.Requests), name)
		tokens.add(float64(r.Input), "in", name)
		tokens.add(float64(r.Output), "out", name)
		money.add(r.Money, name)
		for code, n := range r.Refused {
			if len(r.Refused) > mostCodes || !codeForm.MatchString(code) {
				code = other
			}
			refused.add(float64(n), code, name)
		}
	}
	for _, f := range []*family{requests, tokens, money, refused} {
		f.write(to)
	}
}
