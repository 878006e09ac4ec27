// Package upstreams opens a route's needs for a gateway: the source of each credential, and a transport with its
// dialling rules. It dials nothing and reads no secret yet. If the gateway has an Access, it reaches credentials and
// certificate files through its warden.
package upstreams

import (
	"context"
	"fmt"

	"torno/internal/gateway"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// Open opens the sources and transports of all routes. From then on known remembers every secret that is read.
func Open(ctx context.Context, routes []*route.Route, known *credential.Known, access *credential.Access) ([]*gateway.Upstream, error) {
	var all []*gateway.Upstream
	for _, r := range routes {
		u, err := open(ctx, r, known, access)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all = append(all, u)
	}
	return all, nil
}

func open(ctx context.Context, r *route.Route, known *credential.Known, access *credential.Access) (*gateway.Upstream, error) {
	source, err := access.Open(r, known)
	if err != nil {
		return nil, err
	}
	rule := dial.Rule{
		Host: r.Upstream.Host, Plain: r.Upstream.Scheme == "http", Private: r.Private, Pins: r.Pins,
		MaxHeader: r.MaxHeader, Silence: r.Silence,
	}
	if r.Roots != "" {
		if rule.Roots, err = roots(ctx, r, access); err != nil {
			return nil, err
		}
	}
	transport, err := rule.Transport()
	if err != nil {
		return nil, err
	}
	return &gateway.Upstream{Route: r, Transport: transport, Credential: source}, nil
}

func roots(ctx context.Context, r *route.Route, access *credential.Access) ([]byte, error) {
	if access == nil {
		return credential.ReadRoots(r)
	}
	return access.Roots(ctx, r.Name)
}
