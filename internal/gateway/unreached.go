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

// unreached answers if the upstream gave no answer to pass on. The child learns only the kind of the failure. Details
// go to the log, because they have names and addresses of the host's network.
func (x *exchange) unreached(ctx context.Context, err error, connected bool) bool {
	if ctx.Err() != nil {
		x.event.Code = x.gone()
		return false
	}
	x.door.g.troubles.noteFailure(x.event.Route, err, connected)
	words, _ := failure(err)
	text := "the upstream of the route " + x.event.Route + " did not answer: " + words
	x.door.sayOnce("upstream", text, errors.New(x.scrubbed(err.Error())))
	return x.refuse(route.Refusal{Status: http.StatusBadGateway, Code: "upstream", Text: text})
}

// failure returns the kind of an error, in words and as a Wrong.
func failure(err error) (words string, wrong Wrong) {
	var name *net.DNSError
	var address *dial.AddressError
	var slow net.Error
	switch {
	case errors.As(err, &name):
		return "its name cannot be resolved", WrongName
	case errors.As(err, &address):
		return "the gateway does not dial its address", WrongAddress
	case errors.Is(err, dial.ErrPin):
		return "its certificate does not match the route's pins", WrongTLS
	case isCertificate(err):
		return "its certificate is not accepted", WrongTLS
	case isTLS(err):
		return "it and the gateway do not agree on TLS", WrongTLS
	case errors.As(err, &slow) && slow.Timeout():
		return "it is silent for too long", WrongUpstream
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections", WrongUpstream
	case errors.Is(err, dial.ErrRedirect):
		return dial.ErrRedirect.Error(), WrongUpstream
	}
	return "it cannot be reached, or it did not send a valid answer", WrongUpstream
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

func isTLS(err error) bool {
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return record || alert
}
