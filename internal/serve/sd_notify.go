package serve

import (
	"context"
	"net"
)

// notifier tells a service manager how far we are, as sd_notify(3) does.
type notifier struct{ socket string }

// notifierOf is silent unless the service manager has named a socket. An abstract one begins with "@", for Go as for systemd.
func notifierOf(env func(string) string) notifier { return notifier{env("NOTIFY_SOCKET")} }

// send is best effort: a manager that does not listen is no reason not to serve.
func (n notifier) send(state string) {
	if n.socket == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "unixgram", n.socket)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
