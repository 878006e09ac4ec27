package main

import (
	"context"
	"fmt"
	"time"

	"torno/internal/cli"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/setup"
	"torno/internal/gateway/upstreams"
)

// trial holds the options of a trial.
type trial struct {
	config, model string
	standIn       bool
}

// tryFor bounds the time for the stand-in's answer.
const tryFor = 30 * time.Second

func (a *app) tryCommand() cli.Command {
	t := &trial{}
	return cli.Command{
		Name: "try", Operands: "ROUTE", Brief: "test a route with a request that costs nothing",
		About:    "Asks the upstream for its models, and reports a problem in words: the name, TLS, the credential, or a model that the route names in full. With --stand-in the gateway does not ask the upstream: it answers by itself, through a door like the door of a child.",
		Examples: []string{"model-gateway try claude --config gateway.yaml --model claude-opus-5-5"},
		Options: []cli.Option{
			{Name: "config", Value: "FILE", Help: "routes and prices", Set: cli.Text(&t.config)},
			{Name: "model", Value: "NAME", Help: "ask for this model instead of the models that the route names", Set: cli.Text(&t.model)},
			{Name: "stand-in", Help: "answer without the upstream, a key or a network", Set: cli.On(&t.standIn)},
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
	opened, err := upstreams.Open(ctx, said.Routes, known, nil)
	if err != nil {
		return configError{err}
	}
	if t.standIn {
		return t.alone(ctx, a, opened[0], said.Prices)
	}
	tried := opened[0].Try(ctx, t.model, known.Scrub)
	if tried.Wrong != "" {
		return fmt.Errorf("%s: %s", name, tried.Text)
	}
	return a.answered(name, tried.Text)
}

// answered prints the result.
func (a *app) answered(name, words string) error {
	if a.JSON {
		return a.Out.Object(map[string]any{"route": name, "ok": true, "text": words})
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s\n", name, cli.OneLine(words))
	return err
}
