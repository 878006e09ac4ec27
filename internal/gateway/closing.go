package gateway

import (
	"context"
	"errors"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
)

// shortestAnswer is the smallest number of tokens that is worth asking for as a closing answer.
const shortestAnswer = 1024

// close turns this request into the last one of an agent, because only the share that is kept for the final answer can
// still pay for it. The model may call no tool, so the agent's loop ends with this answer. close first tries the length
// that the client asked for, then half of it, and so on. If no length fits, or the request cannot become a closing one,
// it returns the error spent.
func (x *exchange) close(ctx context.Context, bound budget.Amount, spent error) (*budget.Reservation, error) {
	asked := x.priced()
	asked.Body += route.ClosingSize
	for most := bound.OutputTokens; ; most /= 2 {
		asked.MaxOutput = most
		lower, _ := x.prices.Bound(x.event.Route, x.route.Model, asked)
		reserve, err := x.door.g.Ledger.Reserve(ctx, x.spec.Claims, lower, true)
		switch {
		case err == nil && most == bound.OutputTokens:
			return x.closeWith(reserve, 0, spent)
		case err == nil:
			return x.closeWith(reserve, most, spent)
		case ctx.Err() != nil || !errors.As(err, new(*budget.Spent)):
			return nil, err
		case most/2 < shortestAnswer:
			return nil, spent
		}
	}
}

// closeWith makes the closing request; reserve is its reservation. most bounds the tokens of the answer; 0 keeps the
// length that the client asked for.
func (x *exchange) closeWith(reserve *budget.Reservation, most int64, spent error) (*budget.Reservation, error) {
	closing, err := x.up.Route.Closing(x.route, most)
	if err != nil {
		x.say("ledger", reserve.Cancel())
		return nil, spent
	}
	x.route, x.event.Last = closing, true
	x.door.sayOnce("last", "a budget is used up; the part kept for the final answer is used now", spent)
	return reserve, nil
}
