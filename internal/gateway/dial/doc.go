// Package dial connects the gateway with an upstream, and with nothing else.
//
//	transport, err := dial.Rule{Host: "api.anthropic.com", Silence: 10 * time.Minute}.Transport()
//	answer, err := transport.RoundTrip(request)
//
// A transport speaks to the host of its rule only, whatever a request's URL says. The name is resolved by the system; what is
// judged is the address that is about to be connected to (net.Dialer.Control), so a name that changes between a look and the
// connection changes nothing. These are never dialled: link-local, metadata services, multicast, reserved and documentation
// ranges, and every way of writing a forbidden IPv4 address in an IPv6 one. Loopback, private and shared ranges are dialled
// only for a rule that says Private.
//
// TLS is 1.2 or newer, by the system's roots or the rule's own. A pin is the sha256 of a public key that has to be in the chain
// that was verified. Proxies of the environment do not count, answers are not unpacked, and HTTP/2 is not spoken: one request
// has one connection at a time, and its end is seen.
//
// No request with a body is sent twice. (Go's transport may repeat a GET whose used connection turns out to be closed.) No
// redirect is followed: it is an error (ErrRedirect), as is an answer that would become another protocol. The head of an answer has a bound, and so has the time in which no byte passes.
package dial
