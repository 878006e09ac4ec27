package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"torno/internal/cli"
	"torno/internal/lock"
	"torno/internal/serve"
	"torno/internal/version"
)

func (a *app) purgeCommand() cli.Command {
	var yes bool
	return cli.Command{
		Name: "purge", Brief: "remove everything that an installation has with its launchers",
		About: `
Removes everything that carries the installation's id: sandboxes with their processes, volumes, images, mounts and staging
directories. It also tells the watcher's own model gateway to end. It touches nothing else. The journal stays, so that no
request runs a second time; to forget the journal too, remove the state directory afterwards. While a watcher runs there,
the command does nothing.`,
		Examples: []string{"watcher purge --dir ./outbox", "watcher purge --config /etc/torno/watcher.yaml --yes"},
		Options: append([]cli.Option{
			{Name: "yes", Help: "do not ask", Set: cli.On(&yes)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("purge", args); err != nil {
				return 0, err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return exitOK, a.purge(ctx, yes)
		},
	}
}

func (a *app) purge(ctx context.Context, yes bool) (err error) {
	if err := a.machine.onLinux(); err != nil {
		return err
	}
	state, err := a.stateDir(ctx)
	if err != nil {
		return err
	}
	config, err := a.config()
	if err != nil {
		return err
	}
	installation, err := serve.LockInstallation(ctx, state, fmt.Sprintf("watcher purge %s, process %d", version.String(), os.Getpid()))
	if errors.Is(err, fs.ErrNotExist) {
		return a.noState(state)
	}
	if _, held := errors.AsType[*lock.HeldError](err); held {
		return cli.Hint(err, "stop that process, and purge again")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, installation.Unlock()) }()
	if err := a.confirm(installation, yes); err != nil {
		return err
	}
	err = installation.Purge(ctx, config, a.launchers, slog.New(slog.DiscardHandler))
	if installation.Ended > 0 {
		a.Say("%d runs were ended with their sandboxes; the next watcher of this state directory answers them", installation.Ended)
	}
	if err != nil {
		return cli.Hint(err, fmt.Sprintf("mend it and purge again; docker ps -a --filter label=torno.installation=%s shows the remains", installation.ID))
	}
	if a.JSON {
		return a.Out.Object(map[string]any{"purged": installation.ID, "state": state, "gateway": config.Gateway.State})
	}
	a.Say("nothing of installation %s is left with the launchers; its journal stays in %s, and the children's work in their workspaces", installation.ID, state)
	return nil
}

// confirm asks the operator, if there is a terminal and yes is not given.
func (a *app) confirm(i *serve.Installation, yes bool) error {
	switch {
	case yes:
		return nil
	case !cli.IsTerminal(a.In) || a.JSON:
		return &cli.UsageError{Text: "purge asks before it removes anything, but there is no terminal to ask on", Next: "watcher purge --yes" + a.source.again()}
	}
	if a.says(fmt.Sprintf("Remove every sandbox, volume, image and mount of installation %s\n(%s) with every launcher?", i.ID, i.State)) {
		return nil
	}
	return errors.New("nothing was removed")
}

// says reports whether the operator answers yes at the terminal. An empty answer means no.
func (a *app) says(question string) bool {
	fmt.Fprint(a.Errors, question, " [y/N] ")
	answer, _ := bufio.NewReader(a.In).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(answer))
	return word == "y" || word == "yes"
}
