package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"torno/manager"
)

// cli is one invocation: where it reads and writes, and the options that every command has.
type cli struct {
	env    func(string) string
	in     io.Reader
	out    *output
	errors *output
	outbox string
	json   bool
	help   bool
}

// command is one word that subagent understands. run returns the exit code; with an error, the error decides it.
type command struct {
	name     string
	operands string // as the usage line shows them
	brief    string
	about    string
	examples []string
	options  []option
	run      func(ctx context.Context, operands []string) (int, error)
}

// run executes one invocation and returns its exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{env: env, in: stdin, out: newOutput(stdout, env), errors: newOutput(stderr, env)}
	c.json = slices.Contains(untilDashes(args), "--json") // also when the arguments turn out to be wrong
	code, err := c.dispatch(ctx, args)
	if err == nil && c.out.err != nil {
		err = fmt.Errorf("write to standard output: %w", c.out.err) // the result is taken, but not by the caller
	}
	if err != nil {
		return c.fail(err)
	}
	return code
}

// dispatch finds the command and runs it. Options that all commands have may also stand before it.
func (c *cli) dispatch(ctx context.Context, args []string) (int, error) {
	version := false
	rest, err := parse(args, append(c.common(), option{name: "version", set: on(&version)}), false)
	if err != nil {
		return 0, err
	}
	if version {
		rest = []string{"version"}
	}
	if len(rest) == 0 {
		return c.overview(c.help)
	}
	commands := c.commands()
	i := slices.IndexFunc(commands, func(cmd command) bool { return cmd.name == rest[0] })
	if i < 0 {
		return 0, unknown("command", rest[0], names(commands))
	}
	cmd := commands[i]
	operands, err := parse(rest[1:], c.optionsOf(cmd), true)
	if err != nil {
		return 0, inCommand(cmd.name, err)
	}
	if c.help {
		return c.explain(cmd)
	}
	code, err := cmd.run(ctx, operands)
	return code, inCommand(cmd.name, err)
}

// commands is the one table from which parsing, help and completion are made.
func (c *cli) commands() []command {
	return []command{
		c.spawnCommand(), c.listCommand(), c.waitCommand(), c.cancelCommand(), c.logsCommand(),
		c.completionCommand(), c.versionCommand(), c.helpCommand(),
	}
}

// common are the options of all commands.
func (c *cli) common() []option {
	return []option{
		{name: "outbox", value: "DIR", help: "the outbox; by default $TORNO_OUTBOX, then /outbox", set: text(&c.outbox)},
		{name: "json", help: "print JSON, one object per line", set: on(&c.json)},
		{name: "help", short: "h", help: "explain", set: on(&c.help)},
	}
}

// optionsOf are all options of a command.
func (c *cli) optionsOf(cmd command) []option { return slices.Concat(cmd.options, c.common()) }

// open opens the outbox.
func (c *cli) open() (*manager.Manager, error) {
	path := cmp.Or(c.outbox, c.env("TORNO_OUTBOX"), "/outbox")
	m, err := manager.New(path, manager.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", errNoOutbox, path)
	}
	return m, err
}

func names(commands []command) []string {
	all := make([]string, len(commands))
	for i, cmd := range commands {
		all[i] = cmd.name
	}
	return all
}

func untilDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// say writes one line for people, unless programs listen.
func (c *cli) say(format string, args ...any) {
	c.line("", "subagent:", fmt.Sprintf(format, args...))
}

// line writes one line for people with a label of ours. Nothing in text can end the line or rule the terminal.
func (c *cli) line(colour, label, text string) {
	if !c.json {
		fmt.Fprintln(c.errors, c.errors.paint(colour, label), oneLine(text))
	}
}
