package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"

	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// unreached answers where there is no answer of the upstream's to pass on. The child learns of what kind the failure is; the
// log has the rest, in which are names and addresses of the host's network.
func (x *exchange) unreached(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		x.event.Code = x.gone()
		return false
	}
	text := "the upstream of the route " + x.event.Route + " did not answer: " + failure(err)
	x.door.sayOnce("upstream", text, errors.New(x.scrubbed(err.Error())))
	return x.refuse(route.Refusal{Status: http.StatusBadGateway, Code: "upstream", Text: text})
}

// failure is the kind of an error in words.
func failure(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var slow net.Error
	switch {
	case errors.As(err, &name):
		return "its name cannot be resolved"
	case errors.As(err, &certificate):
		return "its certificate is not accepted"
	case errors.As(err, &slow) && slow.Timeout():
		return "it is silent for too long"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections"
	case errors.Is(err, dial.ErrRedirect):
		return dial.ErrRedirect.Error()
	}
	return "it cannot be reached, or what it said is no answer"
}
