// Package upstreams opens what a gateway's routes need: the source of each credential, and a transport with its rules of dialling.
// It dials nothing and reads no secret yet.
package upstreams

import (
	"fmt"
	"os"

	"torno/internal/gateway"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// Open opens what the routes need. known remembers every secret that is read from then on.
func Open(routes []*route.Route, known *credential.Known) ([]*gateway.Upstream, error) {
	var all []*gateway.Upstream
	for _, r := range routes {
		u, err := open(r, known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all = append(all, u)
	}
	return all, nil
}

func open(r *route.Route, known *credential.Known) (*gateway.Upstream, error) {
	source, err := credential.Open(r.Credential, known)
	if err != nil {
		return nil, err
	}
	rule := dial.Rule{
		Host: r.Upstream.Host, Plain: r.Upstream.Scheme == "http", Private: r.Private, Pins: r.Pins,
		MaxHeader: r.MaxHeader, Silence: r.Silence,
	}
	if r.Roots != "" {
		if rule.Roots, err = os.ReadFile(r.Roots); err != nil {
			return nil, err
		}
	}
	transport, err := rule.Transport()
	if err != nil {
		return nil, err
	}
	return &gateway.Upstream{Route: r, Transport: transport, Credential: source}, nil
}
