package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"torno/internal/gateway/credential"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// Tried is the result of a trial of a route. Its text holds no credential.
type Tried struct {
	Route string `json:"route"`
	Wrong Wrong  `json:"wrong,omitempty"` // absent if nothing is wrong
	Text  string `json:"text"`            // for people

	answered bool // the upstream gave any answer
}

// Wrong names the kind of a route's trouble. The values are API.
type Wrong string

// Kinds of trouble.
const (
	WrongName       Wrong = "name"       // the upstream's name cannot be resolved
	WrongAddress    Wrong = "address"    // the name leads to an address that must not be dialled
	WrongTLS        Wrong = "tls"        // the two sides do not agree on TLS, or the certificate is bad
	WrongUpstream   Wrong = "upstream"   // the upstream does not answer, or its reply is not a valid answer
	WrongCredential Wrong = "credential" // the credential cannot be read, or the upstream refuses it
	WrongModel      Wrong = "model"      // the upstream does not know the model
	WrongBusy       Wrong = "busy"       // the upstream is there, but cannot answer now
)

const (
	tryFor   = 30 * time.Second
	maxList  = 4 << 20 // bytes of an upstream's list of models
	maxShown = 300     // characters of an upstream's text
)

// trial is one trial of a route.
type trial struct {
	*Upstream
	scrub    func(string) string
	answered bool
}

// Try asks the upstream of a route for something that costs nothing: the list of its models, and the given model. If
// model is "", it asks for each model that the route names in full. It uses no door and no budget.
func (g *Gateway) Try(ctx context.Context, name, model string) (Tried, error) {
	u, ok := g.route(name)
	if !ok {
		return Tried{}, fmt.Errorf("%w: %q", ErrNoRoute, name)
	}
	tried := u.Try(ctx, model, g.Scrub)
	if ctx.Err() == nil && model == "" {
		g.troubles.noteTrial(u.Route, tried)
	}
	return tried, nil
}

// troubleTexts describe troubles for people, without names or addresses of the host's network.
var troubleTexts = map[Wrong]string{
	WrongName:       "its name cannot be resolved",
	WrongAddress:    "the gateway does not dial its address",
	WrongTLS:        "there is no TLS connection that both sides accept",
	WrongUpstream:   "it cannot be reached",
	WrongCredential: "it refuses the host's credential, or the credential is not available",
	WrongModel:      "it does not know one of the route's models",
}

// Try does the same as Gateway.Try without a gateway. scrub removes all secrets from a text.
func (u *Upstream) Try(ctx context.Context, model string, scrub func(string) string) Tried {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	t := &trial{Upstream: u, scrub: scrub}
	models := []string{model}
	if model == "" {
		models = named(u.Route)
	}
	text, wrong := t.try(ctx, models)
	return Tried{u.Route.Name, wrong, text, t.answered}
}

// named returns the models that a route names in full, by the upstream's names for them.
func named(r *route.Route) (all []string) {
	for _, m := range r.Models {
		name := m.Name
		if m.Upstream != "" {
			name = m.Upstream
		}
		if !strings.HasSuffix(name, "*") {
			all = append(all, name)
		}
	}
	return all
}

func (t *trial) try(ctx context.Context, models []string) (text string, wrong Wrong) {
	begun := time.Now()
	at, lists := listOf(t.Route)
	status, list, wrong := t.get(ctx, at)
	if wrong != "" {
		return list, wrong
	}
	took := time.Since(begun).Milliseconds()
	if text, wrong := t.verdict(status, list); wrong != "" {
		return text, wrong
	}
	if status >= http.StatusBadRequest {
		return fmt.Sprintf("the upstream is there, in %d ms; it has no such list (%d), so the first request will show whether it accepts the credential", took, status), ""
	}
	text = fmt.Sprintf("the upstream answers, in %d ms", took)
	if !lists || len(models) == 0 {
		return text, ""
	}
	for _, model := range models {
		if why, wrong := t.knows(ctx, at.JoinPath(model), model, list); wrong != "" {
			return why, wrong
		}
	}
	return text + ", and knows " + strings.Join(models, ", "), ""
}

// knows asks for a model, unless the list already has it.
func (t *trial) knows(ctx context.Context, at *url.URL, model, list string) (text string, wrong Wrong) {
	if strings.Contains(list, `"`+model+`"`) || strings.Contains(list, `"models/`+model+`"`) {
		return "", ""
	}
	status, said, wrong := t.get(ctx, at)
	switch {
	case wrong != "":
		return said, wrong
	case status == http.StatusNotFound:
		return fmt.Sprintf("the upstream does not know the model %q (404): %s", model, t.shown(said)), WrongModel
	}
	return t.verdict(status, said)
}

// listOf returns the address that costs nothing: the list of models, or for a registry its top page, which lists no
// models.
func listOf(r *route.Route) (at *url.URL, lists bool) {
	switch r.API {
	case route.Anthropic:
		return r.Upstream.JoinPath("v1", "models"), true
	case route.OpenAIResponses, route.OpenAIChat:
		return r.Upstream.JoinPath("models"), true
	case route.Google:
		return r.Upstream.JoinPath("v1beta", "models"), true
	}
	return r.Upstream.JoinPath("/"), false
}

// get sends one request. If something is wrong, said describes it in words.
func (t *trial) get(ctx context.Context, at *url.URL) (status int, said string, wrong Wrong) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, t.shown(err.Error()), WrongUpstream
	}
	for name, value := range t.Route.Set {
		request.Header.Set(name, value)
	}
	if t.Route.API == route.Anthropic {
		request.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if err := credential.Apply(ctx, t.Credential, request, nil); err != nil {
		return 0, "the credential is not available: " + t.shown(err.Error()), WrongCredential
	}
	response, err := t.Transport.RoundTrip(request)
	t.answered = t.answered || err == nil || errors.Is(err, dial.ErrRedirect)
	if t.Route.API == route.Plain && errors.Is(err, dial.ErrRedirect) {
		return http.StatusFound, "", "" // the top page redirects, but no client asks for that page
	}
	if err != nil {
		words, wrong := failure(err)
		return 0, "the upstream " + at.Host + ": " + words + ": " + t.shown(err.Error()), wrong
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		t.Credential.Refused(ctx)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxList))
	if err != nil {
		return 0, "the upstream's answer breaks off: " + t.shown(err.Error()), WrongUpstream
	}
	return response.StatusCode, string(body), ""
}

// verdict judges an answer. If the answer means trouble, it returns that in words.
func (t *trial) verdict(status int, said string) (text string, wrong Wrong) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Sprintf("the upstream refuses the credential (%d): %s", status, t.shown(said)), WrongCredential
	case status >= 500, status == http.StatusTooManyRequests:
		return fmt.Sprintf("the upstream is there, but cannot answer now (%d): %s", status, t.shown(said)), WrongBusy
	}
	return "", ""
}

// shown shortens a stranger's text to a little of it, on one line. It removes secrets first, because a part of a secret
// would not be recognized.
func (t *trial) shown(text string) string {
	text = strings.Join(strings.Fields(t.scrub(text)), " ")
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return text
}
