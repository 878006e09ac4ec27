package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"torno/configs"
	"torno/internal/cli"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/internal/serve"
	"torno/sandbox"
	"torno/sandbox/compile"
)

func (a *app) checkCommand() cli.Command {
	var try bool
	return cli.Command{
		Name: "check", Operands: "[-- COMMAND…]", Brief: "show the configuration, and the guarantees that are enforced here",
		About: `
Prints the whole configuration, defaults included, in a form that run --config takes. Comments after it say what each launcher
enforces here and how, and which launcher was chosen for a profile that leaves the choice to the watcher. The command asks the
running watcher. If none runs, it makes an installation of its own for a moment, and removes it again. A fault of the
configuration, the directories or the launchers is an error.

--try sends an agent that does nothing through every profile of every outbox, with a workspace of its own in the first
allowed root, and shows how long each phase took. It also has the model gateway ask the upstream of each route for its models;
this costs nothing. If that fails, it names the fault: the host name, TLS, the credential, a model, or a missing gateway.`,
		Examples: []string{"watcher check --config watcher.yaml", "watcher check --dir ./outbox --try", "watcher check --dir ./outbox > watcher.yaml"},
		Options: append([]cli.Option{
			{Name: "try", Help: "send an agent that does nothing through each profile, and show the times; ask each route's upstream", Set: cli.On(&try)},
		}, a.source.options()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := noWords("check", args); err != nil {
				return 0, err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			config, warnings, err := a.source.load(args)
			if err != nil {
				return 0, err
			}
			c := &checked{config: config, warnings: warnings, profiles: slices.Clone(config.Profiles)}
			tried, remove := config, func() error { return nil }
			if try {
				if tried, remove, err = a.source.forTrial(args, config); err != nil {
					return exitOK, err
				}
			}
			err = errors.Join(c.examine(ctx, a.machine, a.launchers, tried, try), remove(), a.printChecked(c))
			return exitOK, err
		},
	}
}

// checked holds the findings of check.
type checked struct {
	config     configs.Config
	warnings   []configs.Warning
	asked      string // the source of guarantees: the running watcher, or a trial
	guarantees map[string]sandbox.Guarantees
	notAhead   map[string]string // by launcher: why it makes no sandboxes ahead of runs, "" if it does
	profiles   []compile.Profile // with the launchers that they get on this machine
	tries      []tried
	routes     []serve.RouteAttempt
}

// tried holds one trial run and its error.
type tried struct {
	serve.Attempt
	err error
}

// examine looks at the machine, the launchers and, with try, the profiles. It goes on after a problem if it can, and
// returns the problems that the operator should mend first. tried is the configuration for the trial.
func (c *checked) examine(ctx context.Context, where machine, launchers launcher.List, tried configs.Config, try bool) error {
	if err := where.onLinux(); err != nil {
		return err
	}
	warnings, problems := c.config.CheckHost()
	c.warnings = append(append(c.warnings, warnings...), c.config.LookThrough()...)
	c.askWatcher(ctx)
	if c.asked != "" && (!try || problems != nil) {
		return errors.Join(problems, c.refused(), c.unmet())
	}
	trial, err := serve.OpenTrial(ctx, tried, launchers, slog.New(slog.DiscardHandler))
	if err != nil {
		if e, ok := errors.AsType[*launcher.UnusableError](err); problems != nil && (!ok || !e.Absent) {
			return problems
		}
		return err
	}
	err = c.useTrial(ctx, trial, try && problems == nil)
	if closeErr := trial.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("clean up after the trial: %w", closeErr))
	}
	if problems != nil {
		return problems
	}
	return errors.Join(err, c.refused(), c.unmet())
}

// refused returns why `watcher run` would not start on this machine.
func (c *checked) refused() error {
	enforced := map[string]sandbox.Guarantees{}
	for _, p := range c.profiles {
		if g, known := c.guarantees[p.Sandbox]; known {
			enforced[p.Sandbox] = g
		}
	}
	if len(enforced) == 0 {
		return nil // another error says why nothing is known
	}
	return doctor.Start(doctor.System{Guarantees: enforced, Accept: c.config.Accept, Asked: c.asked})
}

// askWatcher asks the running watcher which limits it enforces, because its mount namespace counts, and not ours.
func (c *checked) askWatcher(ctx context.Context) {
	status, err := control.Dial(c.config.State).Status(ctx)
	if err != nil {
		return
	}
	if enforced, ok := status.Enforced(); ok {
		c.asked, c.guarantees = fmt.Sprintf("the watcher that runs as process %d", status.PID), enforced
		c.notAhead = map[string]string{}
		for _, pool := range status.Pools {
			c.notAhead[pool.Launcher] = pool.Off
		}
		for i, p := range c.profiles {
			c.profiles[i].Sandbox, c.profiles[i].Chosen = status.LauncherOf(p.Name, p.Sandbox)
		}
	}
}

func (c *checked) useTrial(ctx context.Context, trial *serve.Trial, try bool) (err error) {
	if c.asked == "" {
		c.asked, c.profiles = "a trial", trial.Config().Profiles
		c.notAhead = trial.NotAhead()
		if c.guarantees, err = trial.Guarantees(ctx); err != nil {
			return err
		}
	}
	if !try {
		return nil
	}
	var failed []string
	for _, policy := range serve.Policies(trial.Config()) {
		for _, profile := range policy.Profiles {
			attempt, err := trial.Try(ctx, policy, profile)
			c.tries = append(c.tries, tried{attempt, err})
			if err != nil {
				failed = append(failed, policy.Outbox+"/"+profile.Name)
			}
		}
	}
	if len(failed) > 0 {
		err = fmt.Errorf("%d of %d trials failed: %s", len(failed), len(c.tries), strings.Join(failed, ", "))
	}
	c.routes = trial.TryRoutes(ctx)
	return errors.Join(err, c.failedRoutes())
}

// failedRoutes names the routes whose upstream could not be reached.
func (c *checked) failedRoutes() error {
	var failed []string
	for _, r := range c.routes {
		if !r.Works {
			failed = append(failed, r.Route)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d routes do not work: %s", len(failed), len(c.routes), strings.Join(failed, ", "))
}

// unmet names the profiles that demand guarantees which this machine does not enforce.
func (c *checked) unmet() error {
	var unmet []string
	for _, p := range c.profiles {
		for _, key := range c.guarantees[p.Sandbox].Missing(p.AtLeast) {
			unmet = append(unmet, strings.TrimSuffix(fmt.Sprintf("%s demands %s (%s)", p.Name, key, p.Chosen), " ()"))
		}
	}
	if len(unmet) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("profiles demand guarantees that are not enforced here, so their requests would be refused: %s", strings.Join(unmet, "; ")),
		"the table says why a guarantee is not enforced; mend the cause, or take the guarantee out of at_least")
}
