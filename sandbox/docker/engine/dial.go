package engine

import (
	"context"
	"net"

	"github.com/docker/docker/client"
)

// dialCut closes a connection that is dialled for one call, when the call's context ends. Docker's client gives a call that
// becomes a stream no end of its own: where the engine does not answer it, the call would hold its caller for ever.
type dialCut struct{ release func() bool }

// dialKey is under which a context has a dialCut.
type dialKey struct{}

// stop lets the connection live on.
func (d *dialCut) stop() {
	if d.release != nil {
		d.release()
	}
}

// cutDials has the client's connections made by a dialler that knows of a dialCut. A connection under TLS is dialled by the
// client itself for such a call, and is not cut.
func cutDials(c *client.Client) error {
	host, err := client.ParseHostURL(c.DaemonHost())
	if err != nil {
		return err
	}
	return client.WithDialContext(func(ctx context.Context, network, address string) (net.Conn, error) {
		if host.Scheme == "unix" {
			network, address = "unix", host.Host
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if cut, ok := ctx.Value(dialKey{}).(*dialCut); ok && err == nil {
			cut.release = context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	})(c)
}
