package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/gateway/wire"
)

// exchange is one request and its answer.
type exchange struct {
	c     *connection
	door  *door
	spec  Spec // the door's Spec when the request came
	event Event
	began time.Time
	hold  held

	api    route.API   // the form of refusals
	header http.Header // extra fields of a refusal
	closes bool        // the connection ends after the answer

	up      *Upstream
	route   route.Exchange
	runs    bool         // whether the request runs a model
	prices  prices.Table // the prices when the request came
	reserve *budget.Reservation
	unsent  bytes.Reader // the body of the request that leaves, until it was sent
	sent    time.Time    // when the request was ready to leave
	secrets []string
	way     Way    // the way that led to the route
	host    string // this machine's name and port, as the client wrote them
	fetch   fetch
	record  int // the number of the exchange in the door's record; 0 for none
}

// toReserve bounds how long a request waits for budget that other requests under way have reserved.
const toReserve = 30 * time.Second

// carry handles a request, after its head was read, to the end. It returns true if another request may follow on the
// connection.
func (x *exchange) carry(head *wire.Head) (again bool) {
	x.closes = head.Close
	way, path, ok := x.spec.way(head.Path)
	if ok {
		x.up, ok = x.door.g.route(way.Route)
	}
	if !ok {
		x.api = x.c.api(x.spec)
		return x.turnAway(head, route.Refusal{Status: http.StatusNotFound, Code: "no_route", Text: "no route of this door leads there"})
	}
	x.way, x.host = way, head.Host
	x.api, x.event.Route, x.event.API = x.up.Route.API, way.Route, string(x.up.Route.API)
	if head.Upgrade {
		// Codex tries a WebSocket first. After this answer it falls back to POST at once.
		return x.turnAway(head, route.Refusal{Status: http.StatusUpgradeRequired, Code: "upgrade", Text: "this route speaks HTTP/1.1 only, and no WebSocket"})
	}
	body, err := x.body(head)
	if err != nil {
		return x.unread(err)
	}
	x.prices = x.door.g.table()
	x.route, err = x.up.Route.Decide(route.Request{
		Method: head.Method, Path: path, RawQuery: head.RawQuery, Header: head.Header, Body: body,
		LongPriced: func(model string) bool { return x.prices.LongPriced(way.Route, model) },
	})
	if err != nil {
		return x.refuseFor(err)
	}
	x.runs = runs(&x.route)
	x.event.Model, x.event.Dropped = strings.Clone(x.route.Model), x.route.Dropped
	ctx, stop := x.c.watch(x.door.ctx)
	again = x.spend(ctx, path)
	stop()
	return again && !x.closes
}

// turnAway refuses a request whose body was not read.
func (x *exchange) turnAway(head *wire.Head, r route.Refusal) bool {
	x.closes = x.closes || head.Length != 0
	x.refuse(r)
	if head.Length != 0 {
		x.c.linger()
	}
	return !x.closes
}

func (x *exchange) body(head *wire.Head) ([]byte, error) {
	if head.Length == 0 {
		return nil, nil
	}
	if head.Length > x.up.Route.MaxBody {
		head.Continue = false // so the client learns that it need not send the body
	}
	if head.Continue {
		if err := wire.WriteContinue(x.c); err != nil {
			return nil, err
		}
	}
	return x.c.readBody(x.c.in.Body(head, x.up.Route.MaxBody), &x.hold)
}

// spend reserves the upper bound of the exchange's cost, and then sends the request.
func (x *exchange) spend(ctx context.Context, path string) (again bool) {
	waiting, stop := context.WithTimeout(ctx, toReserve)
	bound := x.bound()
	reserve, err := x.door.g.Ledger.Reserve(waiting, x.spec.Claims, bound, false)
	var spent *budget.Spent
	if waiting.Err() == nil && errors.As(err, &spent) && spent.Kept > 0 && x.runs {
		reserve, err = x.close(waiting, bound, err)
	}
	stop()
	sent := x.route.Body
	if err != nil {
		sent = nil // a refused request costs nothing, so a child could fill the record with refused bodies
	}
	x.record = x.door.record.begin(Record{Route: x.event.Route, Model: x.route.Model, Method: x.route.Method, Path: path}, sent)
	switch {
	case ctx.Err() != nil:
		x.event.Code = x.gone()
		if err == nil {
			x.say("ledger", reserve.Cancel())
		}
		return false
	case errors.Is(err, context.DeadlineExceeded):
		x.header = http.Header{"Retry-After": {"5"}}
		return x.refuse(route.Refusal{Status: http.StatusTooManyRequests, Code: "busy", Text: err.Error()})
	case errors.As(err, &spent):
		return x.refuse(route.Refusal{Status: http.StatusBadRequest, Code: route.CodeBudget, Text: spent.Error()})
	case err != nil:
		x.door.sayOnce("ledger", "no budget can be reserved", err)
		return x.refuse(route.Refusal{Status: http.StatusServiceUnavailable, Code: "ledger", Text: "the gateway cannot record the spending, so it sends nothing"})
	}
	x.reserve = reserve
	x.door.g.isLikely(x.event.Route, bound)
	return x.send(ctx)
}

// settle ends the reservation, once. If an exchange ends before that, finish settles it.
func (x *exchange) settle(cost budget.Amount, err error) {
	x.event.Cost, x.reserve = cost, nil
	x.say("ledger", err)
}

// finish reports the exchange. If the reservation was not settled, all of it counts.
func (x *exchange) finish() {
	x.hold.release()
	if x.reserve != nil {
		x.settle(x.reserve.Bound(), x.reserve.SettleUnknown())
	}
	if x.record > 0 {
		x.door.record.note(Record{Exchange: x.record, Status: x.event.Status, Code: x.event.Code})
	}
	x.event.Took = time.Since(x.began).Milliseconds()
	x.door.ends(x.event)
}

func (x *exchange) say(code string, err error) {
	if err != nil {
		x.door.sayOnce(code, "the spending could not be recorded", err)
	}
}

// refuseFor answers with an error that the route's rules returned.
func (x *exchange) refuseFor(err error) bool {
	var r *route.Refusal
	if !errors.As(err, &r) {
		r = &route.Refusal{Status: http.StatusBadRequest, Code: "refused", Text: err.Error()}
	}
	return x.refuse(*r)
}

// refuse sends a refusal in the form of the route's API. It is for a request that does not leave, and for an answer
// that cannot be passed on.
func (x *exchange) refuse(r route.Refusal) (again bool) {
	x.hold.release()
	r.Text = x.door.g.Scrub(r.Text)
	x.event.Status, x.event.Code = r.Status, r.Code
	x.door.sayOnce(r.Code, r.Text, nil)
	body := x.api.RefusalBody(r)
	header := http.Header{"Content-Type": {"application/json"}, "X-Torno-Refused": {r.Code}}
	for name, values := range x.header {
		header[name] = values
	}
	answer := wire.Answer{Status: r.Status, Header: header, Length: int64(len(body)), Close: x.closes}
	if answer.WriteHead(x.c) != nil {
		return false
	}
	if x.event.Method == http.MethodHead {
		return !x.closes
	}
	_, err := x.c.Write(body)
	return err == nil && !x.closes
}
