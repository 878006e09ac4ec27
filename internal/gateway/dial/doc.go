// Package dial connects the gateway to an upstream, and to nothing else.
//
//	transport, err := dial.Rule{Host: "api.anthropic.com", Silence: 10 * time.Minute}.Transport()
//	answer, err := transport.RoundTrip(request)
//
// A transport sends requests only to the host of its rule; a request for another host is an error. The system resolves
// the name. The check looks at the address of the connection itself (net.Dialer.Control), so a name that resolves
// differently a moment later changes nothing. Some addresses are never dialled: link-local, metadata services,
// multicast, reserved and documentation ranges, and every way of writing a forbidden IPv4 address as an IPv6 one.
// Loopback, private and shared ranges are dialled only if the rule says Private.
//
// TLS is 1.2 or newer, and trusts the system's roots or the rule's own. A pin is the sha256 of a public key, and that
// key must be in the verified chain. The transport ignores proxies of the environment, does not unpack answers, and
// does not speak HTTP/2: one request has one connection at a time, so the gateway sees where the connection ends.
//
// No request with a body is sent twice. (Go's transport may repeat a GET if a used connection turns out to be closed.)
// The transport follows no redirect: it returns an error (ErrRedirect), as it does if an answer switches to another
// protocol. The size of an answer's head is bounded, and so is the time in which no byte passes.
package dial
