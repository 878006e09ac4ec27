package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
)

// MinAPI is the API of Docker 20.10. It is the first with private cgroup namespaces; it also has binds that are not
// recursive, which came with 1.40.
const MinAPI = "1.41"

// Client speaks to one engine. It has one method for each call, so that every call is counted and timed in one place.
type Client struct {
	api     *client.Client
	observe func(op string, took time.Duration)
}

// Connect finds the engine and agrees with it on an API.
func Connect(ctx context.Context, host string, observe func(string, time.Duration)) (*Client, error) {
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	api, err := client.NewClientWithOpts(append(options, cutDials)...)
	if err != nil {
		return nil, fmt.Errorf("set up the Docker client: %w", err)
	}
	c := &Client{api: api, observe: observe}
	if err := c.Negotiate(ctx); err != nil {
		api.Close()
		return nil, err
	}
	return c, nil
}

// Negotiate makes sure that the engine answers, and agrees with it on an API.
func (c *Client) Negotiate(ctx context.Context) error {
	defer c.timed("ping")()
	ping, err := c.api.Ping(ctx)
	if err != nil {
		return fmt.Errorf("reach the Docker engine at %s (is it running, and may this user talk to it?): %w", c.Host(), err)
	}
	c.api.NegotiateAPIVersionPing(ping)
	switch {
	case ping.OSType != "" && ping.OSType != "linux":
		return fmt.Errorf("the Docker engine at %s runs %s containers, and Linux ones are needed", c.Host(), ping.OSType)
	case versions.LessThan(c.api.ClientVersion(), MinAPI):
		return fmt.Errorf("the Docker engine at %s speaks API %s; API %s (Docker 20.10) or newer is needed",
			c.Host(), c.api.ClientVersion(), MinAPI)
	}
	return nil
}

// timed measures a call. Use it as `defer c.timed("start")()`.
func (c *Client) timed(op string) func() {
	start := time.Now()
	return func() { c.observe(op, time.Since(start)) }
}

// Close lets go of the engine.
func (c *Client) Close() error { return c.api.Close() }

// Host returns the address of the engine.
func (c *Client) Host() string { return c.api.DaemonHost() }

// Socket returns the path of the engine's socket. If the address is not a unix socket, it returns the address as it is.
func (c *Client) Socket() string { return strings.TrimPrefix(c.Host(), "unix://") }

// HangUp closes the idle connections. The next call makes a new one.
func (c *Client) HangUp() { _ = c.api.Close() } // the client's Close does nothing but close idle connections

// Info returns the engine's description of itself. To answer, the engine executes its runtime.
func (c *Client) Info(ctx context.Context) (system.Info, error) {
	defer c.timed("info")()
	return c.api.Info(ctx)
}

// Version returns the versions of the engine and of its API.
func (c *Client) Version(ctx context.Context) (types.Version, error) {
	defer c.timed("version")()
	return c.api.ServerVersion(ctx)
}
