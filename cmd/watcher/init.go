package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"torno/configs"
	"torno/internal/agent"
	"torno/internal/agent/installed"
	"torno/internal/cli"
	"torno/internal/serve"
)

// initial holds the options of init.
type initial struct {
	dir, file, state string
	packages         []string
	yes, replace     bool
}

func (a *app) initCommand() cli.Command {
	o := initial{}
	return cli.Command{
		Name: "init", Brief: "write a first configuration for this machine",
		About: `
Looks for the agents that this user has (Claude Code, Codex, MassGen) with a key or a login, and tries the launchers of this machine. Then it
writes a configuration with one outbox, a profile for each agent that it found, and a profile for the shell. It makes the outbox if it is missing.
It keeps a key of the environment for the model gateway, in a file of the state directory that no other user can read. It leaves a login where
it is; the gateway reads it there.

On a terminal it asks before it writes. It replaces an existing file only with --replace, or if you say so at the terminal.`,
		Examples: []string{"watcher init", "watcher init --yes --dir /srv/torno/outbox --file /etc/torno/watcher.yaml"},
		Options: []cli.Option{
			{Name: "dir", Value: "DIR", Help: "the outbox; by default ./outbox", Set: cli.Text(&o.dir)},
			{Name: "file", Value: "FILE", Help: "the configuration to write; by default ./watcher.yaml", Set: cli.Text(&o.file)},
			{Name: "state", Value: "DIR", Help: "the state directory; by default a directory of this user", Set: cli.Text(&o.state)},
			packagesOption(&o.packages, ""),
			{Name: "yes", Help: "do not ask whether to write", Set: cli.On(&o.yes)},
			{Name: "replace", Help: "replace an existing configuration", Set: cli.On(&o.replace)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("init", args); err != nil {
				return 0, err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return exitOK, a.init(ctx, o)
		},
	}
}

func (a *app) init(ctx context.Context, o initial) error {
	if err := a.machine.onLinux(); err != nil {
		return err
	}
	if o.dir == "" {
		o.dir = "outbox"
	}
	if o.file == "" {
		o.file = "watcher.yaml"
	}
	var err error
	if o.file, err = filepath.Abs(o.file); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(o.file)); err != nil {
		return cli.Hint(fmt.Errorf("the configuration cannot be written: %w", err), "make its directory first: mkdir -p "+filepath.Dir(o.file))
	}
	found := a.findAgents()
	options := configs.InitialOptions{Dir: o.dir, State: o.state, Packages: o.packages}
	for _, f := range found {
		options.Agents = append(options.Agents, localAgent(f))
	}
	text, config, err := configs.Initial(a.launchers, options)
	if err != nil {
		return asConfigError(err, "the configuration for this machine")
	}
	if err := outsideOutbox(o.file, config.Outboxes[0].Dir); err != nil {
		return err
	}
	if err := errors.Join(configs.HeldFile(o.file), configs.HeldState(config.State)); err != nil {
		return cli.Hint(err, "nothing was written; name other places with --file and --state")
	}
	if err := a.sayLauncher(ctx, config); err != nil {
		return cli.Hint(err, "nothing was written; watcher doctor says what this machine lacks")
	}
	if err := a.mayWrite(&o); err != nil {
		return err
	}
	if err := write(o, text, config, found); err != nil {
		return err
	}
	return a.sayWritten(ctx, o, config)
}

// findAgents looks for every known agent on this machine, and tells the operator its findings.
func (a *app) findAgents() (found []installed.Agent) {
	for _, name := range agent.Names() {
		f, err := installed.Find(name, a.source.machine, false)
		if err != nil {
			a.Say("without %s: %v", name, err)
			continue
		}
		credential := "the login " + f.Login
		if f.Key != "" {
			credential = "a key of the environment"
		}
		a.Say("with %s: %s, and %s", name, f.Places[0].Host, credential)
		found = append(found, f)
	}
	return found
}

// outsideOutbox returns an error if the configuration would lie in its own outbox: agents that write there could
// replace it, and so allow themselves more. An outbox that does not exist yet holds nothing.
func outsideOutbox(file, outbox string) error {
	there, err := os.Stat(outbox)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	for {
		above, err := os.Stat(dir)
		switch {
		case err != nil:
			return err
		case os.SameFile(above, there):
			return cli.Hint(fmt.Errorf("%s would lie in the outbox %s, and agents that write there could replace it; nothing was written", file, outbox),
				"name a file elsewhere with --file, or another outbox with --dir")
		case dir == filepath.Dir(dir):
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// sayLauncher tries which launcher works here, and tells the operator.
func (a *app) sayLauncher(ctx context.Context, config configs.Config) (err error) {
	trial, err := serve.OpenTrial(ctx, config, a.launchers, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trial.Close()) }()
	p := trial.Config().Profiles[0]
	if p.Chosen == "" {
		a.Say("sandboxes are made by %s", p.Sandbox)
		return nil
	}
	a.Say("sandboxes are made by %s (%s)", p.Sandbox, cli.OneLine(p.Chosen))
	return nil
}

// mayWrite asks the operator before init writes, if there is a terminal. It lets init replace a file only if the
// operator says so, there or with --replace.
func (a *app) mayWrite(o *initial) error {
	_, err := os.Lstat(o.file)
	there := err == nil
	asks := cli.IsTerminal(a.In) && !a.JSON
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case there && !o.replace && (!asks || !a.says(o.file+" exists. Replace it?")):
		return cli.Hint(fmt.Errorf("%s exists, so nothing was written", o.file), "name another file with --file, or add --replace")
	case there:
		o.replace = true
		return nil
	case o.yes:
		return nil
	case !asks:
		return &cli.UsageError{Text: "init asks before it writes, but there is no terminal to ask on", Next: "watcher init --yes"}
	case a.says("Write " + o.file + "?"):
		return nil
	}
	return errors.New("nothing was written")
}

// write makes the outbox and writes the keys and, last, the configuration.
func write(o initial, text []byte, config configs.Config, found []installed.Agent) error {
	if err := serve.MakeOutboxes(config); err != nil {
		return fmt.Errorf("make the outbox: %w", err)
	}
	for _, f := range found {
		if err := keepKey(f.Key, config.KeyFile(f.Name), config.State); err != nil {
			return fmt.Errorf("keep the key of %s: %w", f.Name, err)
		}
	}
	if err := placeFile(o.file, text, 0o644, o.replace); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// sayWritten examines the written configuration as check does, and tells the operator the next steps.
func (a *app) sayWritten(ctx context.Context, o initial, config configs.Config) error {
	c := &checked{config: config, profiles: config.Profiles}
	if err := c.examine(ctx, a.machine, a.launchers, config, false); err != nil {
		return cli.Hint(fmt.Errorf("%s was written, but does not work here yet: %w", o.file, err), "mend it, and look again with watcher check --config "+o.file)
	}
	for _, w := range c.warnings {
		a.Warn(w.String())
	}
	if a.JSON {
		return a.Out.Object(map[string]any{"config": o.file, "outbox": config.Outboxes[0].Dir, "state": config.State, "profiles": config.Outboxes[0].Profiles})
	}
	fmt.Fprintln(a.Out, o.file)
	a.Say("next: watcher run --config %s", o.file)
	a.Say("then, in another terminal: subagent --outbox %s info", config.Outboxes[0].Dir)
	return nil
}
