package engine

import (
	"context"
	"net"

	"github.com/docker/docker/client"
)

// dialCut closes the connection that was dialled for one call, when the call's context ends. Docker's client does not
// end a call that becomes a stream. If the engine did not answer, the call would hold its caller for ever.
type dialCut struct{ release func() bool }

// dialKey is the context key of a dialCut.
type dialKey struct{}

// stop lets the connection live on.
func (d *dialCut) stop() {
	if d.release != nil {
		d.release()
	}
}

// cutDials gives the client a dialler that obeys a dialCut. For a call that becomes a stream the client dials a TLS
// connection itself, so such a connection is not cut.
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
