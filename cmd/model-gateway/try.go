package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"torno/internal/cli"
	"torno/internal/gateway"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/route"
	"torno/internal/gateway/setup"
	"torno/internal/gateway/upstreams"
)

// trial is a trial of a route.
type trial struct {
	config, model string
	standIn       bool
}

// tryFor is how long an upstream has to answer.
const tryFor = 30 * time.Second

func (a *app) tryCommand() cli.Command {
	t := &trial{}
	return cli.Command{
		Name: "try", Operands: "ROUTE", Brief: "ask a route's upstream something that costs nothing",
		About:    "Asks the upstream for its models, and says in words what is wrong: the name, TLS, the credential, the model. With --stand-in the route's upstream is not asked: the gateway answers by itself, through a door as a child has it.",
		Examples: []string{"model-gateway try claude --config gateway.yaml --model claude-opus-5-5"},
		Options: []cli.Option{
			{Name: "config", Value: "FILE", Help: "routes and prices", Set: cli.Text(&t.config)},
			{Name: "model", Value: "NAME", Help: "ask for this model too", Set: cli.Text(&t.model)},
			{Name: "stand-in", Help: "without the upstream, a key or a network", Set: cli.On(&t.standIn)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if len(args.All()) != 1 {
				return 0, cli.Usage("try needs the name of one route")
			}
			return exitOK, t.try(ctx, a, args.All()[0])
		},
	}
}

func (t *trial) try(ctx context.Context, a *app, name string) error {
	said, err := setup.Load(t.config)
	if err != nil {
		return configError{err}
	}
	var names []string
	kept := said.Routes[:0]
	for _, r := range said.Routes {
		names = append(names, r.Name)
		if r.Name == name {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return cli.Unknown("route", name, names)
	}
	said.Routes = kept
	known := credential.NewKnown()
	opened, err := upstreams.Open(said.Routes, known)
	if err != nil {
		return configError{err}
	}
	if t.standIn {
		return t.alone(ctx, a, opened[0], said.Prices)
	}
	words, err := t.ask(ctx, opened[0])
	if err != nil {
		return fmt.Errorf("%s: %s", name, known.Scrub(err.Error()))
	}
	return a.answered(name, words)
}

// answered says what was found.
func (a *app) answered(name, words string) error {
	if a.JSON {
		return a.Out.Object(map[string]any{"route": name, "ok": true, "text": words})
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s\n", name, words)
	return err
}

// ask sends one request that costs nothing.
func (t *trial) ask(ctx context.Context, u *gateway.Upstream) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	at := freeOf(u.Route, t.model)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	for name, value := range u.Route.Set {
		request.Header.Set(name, value)
	}
	if u.Route.API == route.Anthropic {
		request.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if err := credential.Apply(ctx, u.Credential, request, nil); err != nil {
		return "", fmt.Errorf("the credential cannot be had: %w", err)
	}
	begun := time.Now()
	response, err := u.Transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 2048))
	if err != nil {
		return "", err
	}
	return verdict(response.StatusCode, t.model, string(text), time.Since(begun))
}

// freeOf is what costs nothing: the list of models, one of them, or the top of a registry.
func freeOf(r *route.Route, model string) *url.URL {
	switch r.API {
	case route.Anthropic:
		return r.Upstream.JoinPath("v1", "models", model)
	case route.OpenAIResponses, route.OpenAIChat:
		return r.Upstream.JoinPath("models", model)
	case route.Google:
		return r.Upstream.JoinPath("v1beta", "models", model)
	}
	return r.Upstream.JoinPath("/")
}

// verdict says in words what an answer means. text is the upstream's own, of which a little is shown.
func verdict(status int, model, text string, took time.Duration) (string, error) {
	shown := cli.OneLine(strings.TrimSpace(text))
	if len(shown) > 300 {
		shown = shown[:300] + "…"
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "", fmt.Errorf("the upstream refuses the credential (%d): %s", status, shown)
	case status == http.StatusNotFound && model != "":
		return "", fmt.Errorf("the upstream does not know the model %q (404): %s", model, shown)
	case status >= 500, status == http.StatusTooManyRequests:
		return "", fmt.Errorf("the upstream is there and cannot answer now (%d): %s", status, shown)
	case status >= 400:
		return fmt.Sprintf("the upstream is there, in %d ms; it has no such list (%d), so whether it takes the credential shows with the first request", took.Milliseconds(), status), nil
	}
	return fmt.Sprintf("the upstream answers, in %d ms", took.Milliseconds()), nil
}
