package main

import (
	"context"
	"errors"

	"torno/internal/cli"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
)

// app is one invocation of the program.
type app struct{ *cli.Program }

const introduction = `model-gateway speaks to the APIs of models for children that have no network. Each run has a socket of its own. The
gateway adds the credential to each request, and checks the budget before it sends the request.`

const firstSteps = `model-gateway try claude --config gateway.yaml --stand-in         answers by itself, without a key or a network
model-gateway try claude --config gateway.yaml                    asks the upstream, which costs nothing
model-gateway serve --config gateway.yaml --state ./gateway-state serves doors`

// Exit codes. They are API.
const (
	exitOK = iota
	exitFailure
	exitUsage
)

var exitCodes = []string{"done", "it failed", "a mistake in the arguments or in the configuration"}

// protocol is the version of the control socket's API.
const protocol = 1

// run executes one invocation and returns its exit code.
func run(ctx context.Context, args []string, system cli.System) int {
	a := &app{}
	a.Program = &cli.Program{Name: "model-gateway", Introduction: introduction, FirstSteps: firstSteps, ExitCodes: exitCodes, Diagnose: diagnose}
	a.Commands = []cli.Command{a.serveCommand(), a.tryCommand(), a.VersionCommand(protocol)}
	return a.Main(ctx, args, system)
}

// configError means that the configuration does not load.
type configError struct{ error }

func (e configError) Unwrap() error { return e.error }

func diagnose(err error) cli.Trouble {
	t := cli.Trouble{Exit: exitFailure, Code: "failure", Text: err.Error()}
	if _, ok := errors.AsType[configError](err); ok {
		t.Exit, t.Code, t.Next = exitUsage, "configuration", "docs/GATEWAY.md shows every key"
	}
	if e, ok := errors.AsType[*route.Error](err); ok {
		t.Text = "the routes of the configuration have mistakes:"
		for _, p := range e.Problems {
			t.Details = append(t.Details, p.Key+": "+p.What)
		}
	}
	if e, ok := errors.AsType[*budget.HeldError](err); ok {
		t.Code, t.Next = "held", "stop the other gateway ("+e.Holder+"), or give this one another --state"
	}
	return t
}
