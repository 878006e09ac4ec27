package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"torno/configs"
	"torno/internal/cli"
	"torno/internal/programs"
)

// routeTrial is a trial of one route of the configuration.
type routeTrial struct{ standIn bool }

func (a *app) gatewayCommand() cli.Command {
	t := &routeTrial{}
	return cli.Command{
		Name: "gateway", Operands: "try ROUTE", Brief: "try a route with a question that costs nothing",
		About: `
Asks the upstream of one route of the configuration for its models. If that fails, it names the fault: the host name, TLS, the credential, or
a model that the route names in full. With --stand-in it does not ask the upstream: the gateway answers a message by itself, through a door like
a child's, and says how much it charged to the budget. So you can try a route and its prices without a key and a network. The program
model-gateway does this; no watcher has to run.`,
		Examples: []string{"watcher gateway try claude --config watcher.yaml --stand-in", "watcher gateway try claude --config watcher.yaml"},
		Options: append([]cli.Option{
			{Name: "stand-in", Help: "try the route without its upstream, a key or a network", Set: cli.On(&t.standIn)},
		}, a.source.options()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			words := args.All()
			if len(words) != 2 || words[0] != "try" {
				return 0, cli.Usage("gateway takes the word try and the name of a route")
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			config, _, err := a.source.load(cli.Args{})
			if err != nil {
				return 0, err
			}
			return t.try(ctx, a, args, config, words[1])
		},
	}
}

// try runs the gateway's program to try the route. The watcher itself uses no network and reads no credential.
func (t *routeTrial) try(ctx context.Context, a *app, args cli.Args, c configs.Config, route string) (exit int, err error) {
	c, remove, err := a.source.forTrial(args, c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	program, err := programs.Find("model-gateway", c.Gateway.Program)
	if err != nil {
		return 0, err
	}
	said, err := t.write(c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(said)) }()
	arguments := []string{"try", route, "--config", said}
	if t.standIn {
		arguments = append(arguments, "--stand-in")
	}
	if a.JSON {
		arguments = append(arguments, "--json")
	}
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Stdout, cmd.Stderr = a.Out, a.Errors
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() >= 0 {
		return ended.ExitCode(), nil // the gateway's program has printed the reason
	}
	return exitOK, err
}

// write puts the routes and prices into a file that only we can read.
func (t *routeTrial) write(c configs.Config) (path string, err error) {
	text, err := c.Gateway.Setup()
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "torno-routes-*.yaml") // 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
