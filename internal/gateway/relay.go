package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/route"
	"torno/internal/gateway/usage"
	"torno/internal/gateway/wire"
)

// Bounds of an answer.
const (
	maxAnswer      = 256 << 20 // of a model
	maxPlainAnswer = 4 << 30   // of a registry
	pieceSize      = 16 << 10
)

// send sends the request, once, and passes the answer on.
func (x *exchange) send(ctx context.Context) (again bool) {
	if done, again := x.kept(ctx); done {
		return again
	}
	whole := false
	defer func() { x.endFetch(whole) }()
	var left atomic.Bool // a byte may have been sent
	request, err := x.request(ctx)
	x.route.Body = nil // from here on the request alone holds the unsent body, so it can be freed once sent
	if err != nil {
		x.settle(budget.Amount{}, x.reserve.Cancel())
		return x.unauthorized(ctx, err)
	}
	x.sent = time.Now()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ // not for the credential's own requests
		GotConn:      func(httptrace.GotConnInfo) { left.Store(true) },
		WroteRequest: x.wroteRequest,
	})
	response, err := x.up.Transport.RoundTrip(request.WithContext(traced))
	if err != nil {
		if !left.Load() {
			x.settle(budget.Amount{}, x.reserve.Cancel())
		}
		return x.unreached(ctx, err, left.Load())
	}
	defer response.Body.Close()
	again = x.answer(ctx, response)
	whole = x.event.Code == ""
	return again
}

// request makes the request to the upstream. It sets the credential last.
func (x *exchange) request(ctx context.Context) (*http.Request, error) {
	r := &http.Request{
		Method: x.route.Method, URL: x.route.URL, Host: x.route.URL.Host, Header: x.route.Header.Clone(), ContentLength: int64(len(x.route.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	x.unsent.Reset(x.route.Body)
	if len(x.route.Body) > 0 {
		// The transport sends the beginning of this body in one write with the head, because it knows that this reader
		// is in memory.
		r.Body = io.NopCloser(&x.unsent)
	}
	r = r.WithContext(ctx)
	before := r.Header.Clone()
	if err := credential.Apply(ctx, x.up.Credential, r, x.route.Body); err != nil {
		return nil, err
	}
	x.secrets = secretsOf(before, r.Header, x.up.Route.Credential.Prefix)
	return r, nil
}

// wroteRequest frees the body once it was sent; the transport does not read it any more. An answer may go on for hours,
// and otherwise a child could make us hold the requests of all its connections meanwhile.
func (x *exchange) wroteRequest(httptrace.WroteRequestInfo) {
	x.unsent.Reset(nil)
	x.hold.release()
}

// unauthorized answers if there is no credential to send. A 503 is for trouble that passes: the client tries again
// later. A 400 is for trouble that only the operator can mend: the client shows its text and does not try again.
// Details go to the log only, because they have paths and names of the host.
func (x *exchange) unauthorized(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		x.event.Code = x.gone()
		return false
	}
	if later, ok := errors.AsType[*credential.Passing](err); ok {
		const text = "the host's credential for this route is not available just now; the gateway's log says why"
		x.door.sayOnce("credential_later", text, err)
		wait := int(math.Ceil(max(time.Second, time.Until(later.At)).Seconds()))
		x.header = http.Header{"Retry-After": {strconv.Itoa(wait)}}
		return x.refuse(route.Refusal{Status: http.StatusServiceUnavailable, Code: "credential_later", Text: text})
	}
	const text = "the host's credential for this route cannot be used; the gateway's log says why"
	x.door.g.troubles.noteNoCredential(x.event.Route)
	x.door.sayOnce("credential", text, err)
	return x.refuse(route.Refusal{Status: http.StatusBadRequest, Code: "credential", Text: text})
}

// gone returns the code for an exchange whose answer cannot reach the client any more.
func (x *exchange) gone() string {
	if x.door.ctx.Err() != nil {
		return "door_closed"
	}
	return "client_gone"
}

// scrubbed removes this exchange's own secrets from a text. The log removes the secrets of all routes.
func (x *exchange) scrubbed(text string) string {
	for _, secret := range x.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// private are header fields of an answer that tell about the host's account, or that are for browsers.
var private = []string{
	"Set-Cookie", "Set-Cookie2", "Alt-Svc", "Strict-Transport-Security", "Report-To", "Reporting-Endpoints", "Nel", "Clear-Site-Data",
	"Openai-Organization", "Openai-Project", "Anthropic-Organization-Id",
}

// ours is the prefix of header fields that only the gateway, and no upstream, may send to a child.
const ours = "X-Torno-"

// isPacked reports whether an answer is encoded in any way but "identity".
func isPacked(codings []string) bool {
	return slices.ContainsFunc(codings, func(c string) bool { return c != "" && !strings.EqualFold(c, "identity") })
}

// answer passes an answer on: its head at once, and then its body as it comes.
func (x *exchange) answer(ctx context.Context, r *http.Response) (again bool) {
	x.event.First = time.Since(x.sent).Milliseconds()
	x.door.g.troubles.noteAnswer(x.up.Route, r.StatusCode)
	if r.StatusCode == http.StatusUnauthorized {
		x.up.Credential.Refused(ctx)
	}
	model := x.route.API != route.Plain
	if model && isPacked(r.Header["Content-Encoding"]) {
		// The gateway cannot count tokens in a compressed answer, nor find the credential in it.
		return x.refuse(route.Refusal{Status: http.StatusBadGateway, Code: "upstream", Text: "the upstream sent a compressed answer, although it was told not to"})
	}
	header := wire.Forward(r.Header)
	for _, name := range private {
		header.Del(name)
	}
	maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, ours) })
	scrubHeader(header, x.secrets)
	pieces := wire.NewPieces(x.c)
	page := x.pageOf(r, pieces)
	if page == nil { // a page changes, and is rewritten for this child
		x.keeps(r)
	}
	length := r.ContentLength
	if page != nil {
		length = -1 // the rewritten addresses change the length
	}
	head := wire.Answer{Status: r.StatusCode, Header: header, Length: length, Close: x.closes}
	bodiless := x.route.Method == http.MethodHead || r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified
	if bodiless && head.Length < 0 {
		head.Length = 0
	}
	x.event.Status = r.StatusCode
	if head.WriteHead(x.c) != nil {
		x.event.Code = x.gone()
		page.drop()
		return false
	}
	meter := usage.NewMeter(string(x.route.API), r.Header.Get("Content-Type"))
	if !bodiless && !x.pass(ctx, r, meter, pieces, page) {
		return false
	}
	x.tally(r.StatusCode, meter)
	return true
}

// pass passes the body on, each part as soon as it arrives. It returns true if the whole body reached the client.
func (x *exchange) pass(ctx context.Context, r *http.Response, meter usage.Meter, pieces *wire.Pieces, page *page) bool {
	var to io.Writer = x.c
	inPieces := r.ContentLength < 0 || page != nil
	switch {
	case page != nil:
		defer page.drop()
		to = page
	case inPieces:
		to = pieces
	}
	if x.fetch.draft != nil {
		to = io.MultiWriter(to, x.fetch.draft) // the draft gets the text after scrubbing, so no credential is kept
	}
	if x.record > 0 {
		recorded := &answers{to: to, record: x.door.record, exchange: x.record}
		defer recorded.end()
		to = recorded
	}
	out := &scrubber{to: to, secrets: x.secrets}
	left := x.door.g.mostAnswer
	if x.route.API == route.Plain {
		left = maxPlainAnswer
	}
	part := make([]byte, pieceSize)
	for {
		n, err := r.Body.Read(part)
		if left -= int64(n); left < 0 {
			x.event.Code = "answer_too_large"
			x.door.sayOnce(x.event.Code, "an answer did not end; it was cut off", nil)
			return false
		}
		_, _ = meter.Write(part[:n]) // a meter never fails
		if _, gone := out.Write(part[:n]); n > 0 && gone != nil {
			x.event.Code = x.gone()
			return false
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.cut(ctx, err)
			return false
		}
	}
	err := out.flush()
	if err == nil && page != nil {
		err = page.end()
	}
	if err == nil && inPieces {
		err = pieces.Close()
	}
	if err != nil {
		x.event.Code = x.gone()
	}
	return err == nil
}

// cut notes an answer that broke off. The gateway closes the connection without a proper end, so that the client
// notices it too.
func (x *exchange) cut(ctx context.Context, err error) {
	if ctx.Err() != nil {
		x.event.Code = x.gone()
		return
	}
	x.event.Code = "upstream_cut"
	x.door.sayOnce(x.event.Code, "an answer broke off", errors.New(x.scrubbed(err.Error())))
}

// tally settles the reservation of a complete answer.
func (x *exchange) tally(status int, meter usage.Meter) {
	used, ok := meter.Usage()
	cost := noModel
	switch {
	case !x.runs, free(status):
	case !ok:
		return // the reservation counts
	default:
		x.event.Usage = Tokens(used)
		cost = x.cost(used)
	}
	x.event.Counted = true
	x.settle(cost, x.reserve.Settle(cost))
}

// free reports whether an upstream that answers with this status ran no model. An upstream that gave up halfway may
// have run one.
func free(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusGatewayTimeout, 499, 524:
		return false
	}
	return status >= 400
}
