package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"torno/configs"
	gatewaycontrol "torno/internal/gateway/control"
	"torno/internal/gateway/process"
	"torno/internal/programs"
)

// RouteAttempt is a trial of a route.
type RouteAttempt struct {
	Route string `json:"route"`
	Works bool   `json:"works"`
	Wrong string `json:"wrong,omitempty"` // gateway, setup, or the gateway's own word: name, tls, credential, model and the like
	Text  string `json:"text"`
}

// The gateway itself cannot report these faults of a route.
const (
	wrongGateway = "gateway" // no gateway answers
	wrongSetup   = "setup"   // the gateway has other routes than the configuration
)

// TryRoutes makes a gateway ask the upstream of each route something that costs nothing. It takes the gateway that
// serves these routes, or else starts a gateway of the trial's own for a moment. This process itself speaks to no
// network and reads no credential.
func (t *Trial) TryRoutes(ctx context.Context) []RouteAttempt {
	routes := t.config.Gateway.Routes()
	all := make([]RouteAttempt, len(routes))
	if len(routes) == 0 {
		return all
	}
	client, wrong, end, err := t.gateway(ctx)
	defer end()
	var around sync.WaitGroup
	for i, r := range routes {
		all[i] = RouteAttempt{Route: r.Name, Wrong: wrong}
		if err != nil {
			all[i].Text = err.Error()
			continue
		}
		around.Go(func() { all[i].by(ctx, client) })
	}
	around.Wait()
	return all
}

// by makes a gateway try the route.
func (a *RouteAttempt) by(ctx context.Context, client *gatewaycontrol.Client) {
	tried, err := client.Try(ctx, a.Route, "")
	if err != nil {
		a.Wrong, a.Text = wrongGateway, "the model gateway does not try it: "+err.Error()
		return
	}
	a.Works, a.Wrong, a.Text = tried.Wrong == "", string(tried.Wrong), tried.Text
}

// gateway finds a gateway that has the routes of the configuration. The caller calls end when it no longer needs the
// gateway. wrong is the kind of err.
func (t *Trial) gateway(ctx context.Context) (client *gatewaycontrol.Client, wrong string, end func(), err error) {
	text, err := t.config.Gateway.Setup()
	if err != nil {
		return nil, wrongSetup, func() {}, err
	}
	client = gatewaycontrol.Dial(t.config.GatewayState())
	status, err := client.Status(ctx)
	same := err == nil && status.Setup == gatewaycontrol.Digest(text)
	switch {
	case same:
		return client, "", client.Close, nil
	case t.config.Gateway.Own():
		client.Close()
		return t.ownGateway(ctx, text)
	case err == nil:
		return client, wrongSetup, client.Close, errors.New("the model gateway has other routes and prices than this configuration; " +
			"a watcher gives the gateway the new ones when the watcher starts, and when it gets SIGHUP")
	case errors.Is(err, gatewaycontrol.ErrNoGateway):
		return client, wrongGateway, client.Close, fmt.Errorf("%w; the configuration says that something else starts it (gateway.state)", err)
	}
	return client, wrongGateway, client.Close, fmt.Errorf("the model gateway does not answer: %w", err)
}

// ownGateway starts a gateway in the trial's state.
func (t *Trial) ownGateway(ctx context.Context, text []byte) (client *gatewaycontrol.Client, wrong string, end func(), err error) {
	dir := filepath.Join(t.state, configs.GatewayName)
	client = gatewaycontrol.Dial(dir)
	s := &process.Supervisor{
		State: dir, Setup: text, Client: client, Log: t.log, Trouble: func(trouble error) { err = trouble },
		Program: func() (string, error) { return programs.Find("model-gateway", t.config.Gateway.Program) },
	}
	if user := int(t.config.UIDs.Gateway()); process.MayBecome(user) == nil {
		s.User = user
	}
	s.Look(ctx)
	end = func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if err := s.End(ending); err != nil {
			t.log.Warn("the model gateway of a trial could not be ended", "error", err)
		}
		client.Close()
	}
	if err == nil {
		err = ctx.Err() // the supervisor does not report that as trouble
	}
	if err != nil {
		return client, wrongGateway, end, err
	}
	return client, "", end, nil
}
