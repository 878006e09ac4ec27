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

// Tried says how a trial of a route went. No text in it has a credential.
type Tried struct {
	Route string `json:"route"`
	Wrong Wrong  `json:"wrong,omitempty"` // absent where nothing is
	Text  string `json:"text"`            // for people

	answered bool // the upstream answered something
}

// Wrong is the kind of what is wrong with a route. The values are API.
type Wrong string

// What can be wrong with a route.
const (
	WrongName       Wrong = "name"       // its upstream's name cannot be resolved
	WrongAddress    Wrong = "address"    // the address behind the name is not dialled
	WrongTLS        Wrong = "tls"        // no connection that both sides accept, such as a certificate for another name
	WrongUpstream   Wrong = "upstream"   // it does not answer, or what it says is no answer
	WrongCredential Wrong = "credential" // it cannot be had, or the upstream refuses it
	WrongModel      Wrong = "model"      // the upstream does not know it
	WrongBusy       Wrong = "busy"       // the upstream is there and cannot answer now
)

const (
	tryFor   = 30 * time.Second
	maxList  = 4 << 20 // of an upstream's list of models
	maxShown = 300     // of what an upstream says
)

// trial is one trial of a route.
type trial struct {
	*Upstream
	scrub    func(string) string
	answered bool
}

// Try asks the upstream of a route something that costs nothing: for the list of its models, and for model. Where model is "", it asks
// for each model that the route names in full. No door and no budget is touched.
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
	WrongAddress:    "its address is one that is not dialled",
	WrongTLS:        "there is no TLS connection that both sides accept",
	WrongUpstream:   "it cannot be reached",
	WrongCredential: "it refuses the host's credential, or that cannot be had",
	WrongModel:      "it does not know a model of the route's",
}

// Try is Gateway.Try, without a gateway. scrub takes all secrets out of a text.
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

// named are the models that a route names in full, as the upstream is told.
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
		return fmt.Sprintf("the upstream is there, in %d ms; it has no such list (%d), so whether it takes the credential shows with the first request", took, status), ""
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

// knows asks for a model, unless the list has it.
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

// listOf is what costs nothing: the list of models, or the top of a registry, which lists none.
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

// get sends one request. Where something is wrong, said is that in words.
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
		return 0, "the credential cannot be had: " + t.shown(err.Error()), WrongCredential
	}
	response, err := t.Transport.RoundTrip(request)
	t.answered = t.answered || err == nil || errors.Is(err, dial.ErrRedirect)
	if t.Route.API == route.Plain && errors.Is(err, dial.ErrRedirect) {
		return http.StatusFound, "", "" // the top page redirects; no client asks for it
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

// verdict says in words what an answer means, where it means that something is wrong.
func (t *trial) verdict(status int, said string) (text string, wrong Wrong) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Sprintf("the upstream refuses the credential (%d): %s", status, t.shown(said)), WrongCredential
	case status >= 500, status == http.StatusTooManyRequests:
		return fmt.Sprintf("the upstream is there and cannot answer now (%d): %s", status, t.shown(said)), WrongBusy
	}
	return "", ""
}

// shown is a little of a text of strangers, on one line. What is a secret is taken out first: a part of one would not be known.
func (t *trial) shown(text string) string {
	text = strings.Join(strings.Fields(t.scrub(text)), " ")
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return text
}
