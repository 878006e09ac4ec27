package gateway

import (
	"strings"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/gateway/usage"
)

// noModel is the cost of a request that runs no model: one request, no tokens.
var noModel = budget.Amount{Requests: 1}

// runs reports whether an exchange runs a model. Counting tokens and listing models do not.
func runs(x *route.Exchange) bool {
	path := strings.ToLower(x.URL.Path)
	return x.API != route.Plain && len(x.Body) > 0 && !strings.HasSuffix(path, "/count_tokens") && !strings.HasSuffix(path, ":counttokens")
}

func (g *Gateway) table() prices.Table {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.prices
}

// expect tells the ledger, while the sandbox is still being made, how much the run is likely to ask for: as much as the
// most recent requests of its routes. Then the run's first request does not wait for the disk. The caller has locked
// the gateway.
func (d *door) expect() {
	for _, claim := range d.now.Claims {
		if claim.Scope.Kind != budget.Run {
			continue // other scopes outlive a run, so the ledger already expects more from them
		}
		for _, way := range d.now.Routes {
			if bound, ok := d.g.likely[way.Route]; ok {
				d.running.Go(func() {
					if err := d.g.Ledger.Expect(claim.Scope, bound); err != nil {
						d.sayOnce("ledger", "the expected spending of a run could not be recorded; its first request waits until it is recorded", err)
					}
				})
			}
		}
	}
}

// isLikely remembers the bound of a route's most recent request.
func (g *Gateway) isLikely(route string, bound budget.Amount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.likely[route] = bound
}

// bound returns the most that the exchange can cost.
func (x *exchange) bound() budget.Amount {
	if !x.runs {
		return noModel
	}
	bound, known := x.prices.Bound(x.event.Route, x.route.Model, x.priced())
	if known != prices.Exactly {
		x.event.Price = known.String()
		x.door.sayOnce("price", known.String()+": "+x.route.Model, nil)
	}
	return bound
}

// priced returns the request in the form that the price table reads.
func (x *exchange) priced() prices.Request {
	return prices.Request{
		Body: int64(len(x.route.Body)), MaxOutput: x.route.MaxOutput, Images: x.route.Images, Unmeasured: x.route.Unmeasured,
		Long: x.long(),
	}
}

// long reports whether the request may use the model's long window. At Anthropic and Bedrock a beta opens it; other
// upstreams take long prompts unasked.
func (x *exchange) long() bool {
	return x.route.Long || x.route.API != route.Anthropic && x.route.API != route.Bedrock
}

// cost returns the real cost of the exchange. It uses the prices of the reservation, because the current table may lack
// this model.
func (x *exchange) cost(u usage.Usage) budget.Amount {
	cost, _ := x.prices.Cost(x.event.Route, x.route.Model, x.long(), u)
	return cost
}
