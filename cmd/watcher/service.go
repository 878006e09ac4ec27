package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/cli"
	"torno/internal/programs"
	"torno/internal/service"
	"torno/internal/trust"
)

// serviceOptions holds the options of the command service.
type serviceOptions struct {
	user, print bool
	config      string
}

func (a *app) serviceCommand() cli.Command {
	var o serviceOptions
	return cli.Command{
		Name: "service", Operands: "install|uninstall|status", Brief: "make the watcher a service of this machine",
		About: `
install    writes the systemd unit for this program in its present place, enables the unit and starts it. The configuration must
           exist and load: /etc/torno/watcher.yaml, with --user ~/.config/torno/watcher.yaml.
uninstall  stops the service and removes its unit. Children end or go on, as the configuration's shutdown says. Configuration and state stay.
status     says whether the unit is there and is of this version, and shows the report of the service manager.

With --user it is a service of one user, with control groups that are delegated to it. It ends with that user's last login unless
lingering is on: loginctl enable-linger. On a Mac the service keeps up the Linux machine where the watcher lives; this has not been
tried on a Mac yet. The command never replaces or removes a file that it did not write.`,
		Examples: []string{"sudo watcher service install", "watcher service install --user", "watcher service install --print"},
		Options: []cli.Option{
			{Name: "user", Help: "a service of one user, without root", Set: cli.On(&o.user)},
			{Name: "config", Value: "FILE", Help: "the configuration, instead of the usual one", Set: cli.Text(&o.config)},
			{Name: "print", Help: "only show what would be written and run", Set: cli.On(&o.print)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			words := args.All()
			does := map[string]func(context.Context, service.Plan, bool) error{"install": a.install, "uninstall": a.uninstall, "status": a.serviceStatus}
			if len(words) != 1 || does[words[0]] == nil {
				return 0, cli.Usage("service takes one of the words install, uninstall and status")
			}
			plan, err := a.servicePlan(o)
			if err != nil {
				return 0, err
			}
			return exitOK, does[words[0]](ctx, plan, o.print)
		},
	}
}

// servicePlan returns the plan of a service that runs this program from the place where it lies now.
func (a *app) servicePlan(o serviceOptions) (service.Plan, error) {
	own, err := os.Executable()
	if err != nil {
		return service.Plan{}, fmt.Errorf("find our own program: %w", err)
	}
	m := service.Machine{System: a.machine.platform, User: o.user, Program: own, Home: a.Env("HOME"), UID: os.Getuid()}
	if o.config != "" {
		if m.Config, err = absolute(o.config); err != nil {
			return service.Plan{}, err
		}
	}
	if o.user && m.Home == "" {
		return service.Plan{}, errors.New("HOME is not set, but the unit of a user goes there")
	}
	return service.For(m)
}

func (a *app) install(ctx context.Context, plan service.Plan, show bool) error {
	if show {
		fmt.Fprintf(a.Out, "# %s\n%s\n", plan.Path, plan.Text)
		return a.printCommands(plan.Start)
	}
	if plan.Config != "" {
		if err := a.mayServe(plan.Config, plan.User); err != nil {
			return err
		}
	}
	changed, err := plan.Put()
	if err != nil {
		return ownFile(err)
	}
	if changed {
		a.Say("wrote %s", plan.Path)
	}
	return cli.Hint(a.runAll(ctx, plan.Start), plan.Reason)
}

// mayServe returns an error if a service would not start: if its configuration does not load, or if another user can
// replace the configuration or the program.
func (a *app) mayServe(config string, person bool) error {
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		return cli.Hint(fmt.Errorf("there is no configuration %s", config), "make one, and an outbox: "+firstConfiguration(config, a.Env("HOME"), person))
	}
	s := a.source
	s.config = config
	if _, _, err := s.load(cli.Args{}); err != nil {
		return err
	}
	own, err := programs.Find("watcher", "")
	if err != nil {
		return err
	}
	if _, err := trust.Places().Follow(own); err != nil { // it is not enough to trust the program's owner: the service runs as root
		return cli.Hint(fmt.Errorf("another user could take over the service: %w", err),
			"put the program where only you and root may write: sudo make install")
	}
	return nil
}

// firstConfiguration returns a line to paste if there is no configuration. The line makes the configuration, and the
// directories that it names. For the system's service the outbox belongs to the usual user of an agent's container.
func firstConfiguration(config, home string, person bool) string {
	outbox, owner := filepath.Join(home, "outbox"), ""
	if !person {
		outbox, owner = "/srv/torno/outbox", "-m 0770 -o 1000 -g 1000 "
	}
	return fmt.Sprintf("install -d %[1]s && install -d %[2]s%[3]s %[3]s/workspaces && watcher check --dir %[3]s > %[4]s", filepath.Dir(config), owner, outbox, config)
}

func (a *app) uninstall(ctx context.Context, plan service.Plan, show bool) error {
	if show {
		return a.printCommands(slices.Concat(plan.Stop, [][]string{{"rm", plan.Path}}, plan.Forget))
	}
	state, err := plan.State()
	if err != nil {
		return ownFile(err)
	}
	if state == "missing" {
		a.Say("%s is not there: nothing is installed", plan.Path)
		return nil
	}
	if err := a.runAll(ctx, plan.Stop); err != nil {
		return err
	}
	if err := plan.Remove(); err != nil {
		return err
	}
	a.Say("removed %s; configuration and state stay", plan.Path)
	return a.runAll(ctx, plan.Forget)
}

// serviceStatus prints the state of the unit and, for people, the service manager's own report.
func (a *app) serviceStatus(ctx context.Context, plan service.Plan, show bool) error {
	if show {
		return a.printCommands([][]string{plan.Ask})
	}
	state, err := plan.State()
	if err != nil {
		return ownFile(err)
	}
	if a.JSON {
		return a.Out.Object(map[string]string{"file": plan.Path, "state": state})
	}
	fmt.Fprintf(a.Out, "%s: %s\n", plan.Path, state)
	if state == "missing" {
		return cli.Hint(errors.New("nothing is installed"), "watcher service install")
	}
	return a.runAll(ctx, [][]string{plan.Ask})
}

func ownFile(err error) error {
	return cli.Hint(err, "if this file is in the way, move it away; a package's own unit needs no install: systemctl enable --now torno-watcher")
}

func (a *app) printCommands(commands [][]string) error {
	for _, words := range commands {
		if _, err := fmt.Fprintln(a.Out, strings.Join(words, " ")); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs commands of the service manager until one fails.
func (a *app) runAll(ctx context.Context, commands [][]string) error {
	for _, words := range commands {
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Stdout, command.Stderr = a.Errors, a.Errors
		if err := command.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
		}
	}
	return nil
}
