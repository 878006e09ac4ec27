package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"torno/internal/cli"
	"torno/manager"
	"torno/manager/mcp"
	"torno/manager/mcp/jarvis"
	"torno/manager/mcp/massgen"
	"torno/manager/mcp/stakpak"
)

// mcpOptions holds the flags of mcp.
type mcpOptions struct {
	mcp.Options
	socket, connect string
	address, token  string
	money           string
	jarvis          jarvis.Options
	massgen         []string // the argv of MassGen's own server
}

func (c *app) mcpCommand() cli.Command {
	var o mcpOptions
	var given []string // names of the options on the command line
	command := cli.Command{
		Name: "mcp", Brief: "serve a model: delegate, wait, read and apply as tools",
		About: `
Speaks the Model Context Protocol with the client that has started it, on standard input and output: an agent has this command in
its list of MCP servers. With --socket several clients share one server: each starts subagent mcp --connect, which passes on the messages.
With --http it serves programs of this machine on a port. Every program of this machine can reach a port, so clients must show a token: each start
makes a new token, and writes it into --token-file or prints it once. docs/MCP.md describes the tools.
After -- the set massgen takes the options of MassGen's own server, such as --workspace-path and --agent-id, and --profile NAME.`,
		Examples: []string{
			"claude mcp add torno -- subagent mcp",
			"codex mcp add torno -- subagent mcp",
			"subagent mcp --tools massgen -- --workspace-path /workspace --agent-id agent_a",
			"subagent mcp --socket ~/.torno/mcp.sock",
			"claude mcp add torno -- subagent mcp --connect ~/.torno/mcp.sock",
			"subagent mcp --http 127.0.0.1:8765 --token-file ~/.torno-token",
		},
		Options: []cli.Option{
			{Name: "tools", Value: "SET", Help: "which tools: " + strings.Join(setNames(), ", "), Set: cli.Text(&o.Set)},
			{Name: "socket", Value: "PATH", Help: "serve several clients of this user on a unix socket, in a directory that no other user may change", Set: cli.Text(&o.socket)},
			{Name: "connect", Value: "PATH", Help: "have the server at that socket serve the client that has started this command; it takes no other option", Set: cli.Text(&o.connect)},
			{Name: "http", Value: "ADDRESS", Help: "serve on a port of the loopback, such as 127.0.0.1:0", Set: cli.Text(&o.address)},
			{Name: "token-file", Value: "FILE", Help: "with --http: write the token of this start into FILE, for clients to read; by default print it", Set: cli.Text(&o.token)},
			{Name: "project", Value: "DIR", Help: "for jarvis: where agents/ and .claude/agents/ are; by default $JARVIS_HOME, or the working directory", Set: cli.Text(&o.jarvis.Project)},
			{Name: "caller", Value: "NAME", Help: "for jarvis: the caller for which this server works; agents say which callers they allow; by default main", Set: cli.Text(&o.jarvis.Caller)},
			{Name: "pass", Value: "VARIABLE", Help: "for jarvis: a variable that agents' files may name as ${VARIABLE}; may be given more than once", Set: cli.List(&o.jarvis.Pass)},
			{Name: "parent", Value: "ID", Help: "the subagent for whose run the children work: they end with that run; a word that names no subagent is kept for the records", Set: cli.Text(&o.Budgets.Parent)},
			{Name: "max-tasks", Value: "N", Help: "how many tasks one call may delegate; by default 16", Set: cli.Number(&o.Budgets.PerCall)},
			{Name: "max-children", Value: "N", Help: "how many children may run or wait at a time; by default 32", Set: cli.Number(&o.Budgets.Children)},
			{Name: "max-tokens", Value: "N", Help: "how many tokens children may spend on their models", Set: cli.Number(&o.Budgets.Tokens)},
			{Name: "max-money", Value: "AMOUNT", Help: "how much money children may spend on their models, such as 2.50", Set: cli.Text(&o.money)},
			{Name: "depth", Value: "N", Help: "how deep in a tree of agents this agent is; by default 0", Set: cli.Number(&o.Budgets.Depth)},
			{Name: "max-depth", Value: "N", Help: "agents at this depth or deeper may not delegate; by default 1", Set: cli.Number(&o.Budgets.MaxDepth)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if o.connect != "" {
				return exitCompleted, c.forward(ctx, o.connect, given, args)
			}
			if o.Set != "" && !slices.Contains(setNames(), o.Set) {
				return 0, cli.Unknown("set of tools", o.Set, setNames())
			}
			o.massgen = args.Behind
			if o.Set != massgen.Name {
				args = cli.Args{Words: args.All()}
			}
			if len(args.Words) > 0 {
				return 0, cli.Usage("mcp takes no operands, but there is %q", args.Words[0])
			}
			o.Sets = []mcp.Set{stakpak.Set()}
			return exitCompleted, c.serveModel(ctx, o)
		},
	}
	for i, option := range command.Options {
		command.Options[i].Set = func(value string) error {
			given = append(given, option.Name)
			return option.Set(value)
		}
	}
	return command
}

// forward lets the server at a socket serve our client. All options belong to that server, so forward refuses any
// option rather than ignore it.
func (c *app) forward(ctx context.Context, path string, given []string, args cli.Args) error {
	given = slices.DeleteFunc(given, func(name string) bool { return name == "connect" })
	if c.outbox != "" {
		given = append(given, "outbox")
	}
	switch {
	case len(given) > 0:
		return cli.Usage("--connect takes no other option: give --%s to the server", given[0])
	case len(args.All()) > 0:
		return cli.Usage("mcp --connect takes no operands, but there is %q", args.All()[0])
	}
	return mcp.Forward(ctx, path, c.In, c.Out)
}

// setNames returns the names of all sets of tools.
func setNames() []string { return append(mcp.SetNames(), stakpak.Name, massgen.Name, jarvis.Name) }

// openForMassGen adds the set massgen, with the settings that MassGen gives its own server, and opens the outbox. The set
// works without an outbox, because the settings may have children run outside a sandbox. The desk then gets an empty
// directory that nobody serves; close removes it.
func (c *app) openForMassGen(o *mcpOptions) (m *manager.Manager, close func() error, err error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	settings, warnings, err := massgen.Settings(o.massgen, work)
	if err != nil {
		return nil, nil, cli.Usage("%v", err)
	}
	for _, warning := range warnings {
		c.Say("%s", warning)
	}
	c.outbox = cmp.Or(c.outbox, settings.Outbox)
	m, err = c.open()
	settings.NoOutbox = errors.Is(err, errNoOutbox) && c.outbox == "" && c.Env("TORNO_OUTBOX") == ""
	o.Sets = append(o.Sets, massgen.Set(settings))
	if err == nil {
		return m, m.Close, nil
	}
	if !settings.NoOutbox {
		return nil, nil, err
	}
	c.Say("%v. So subagents run outside a sandbox, if the settings say so, and otherwise not at all", err)
	dir, err := os.MkdirTemp("", "torno-no-outbox-")
	if err != nil {
		return nil, nil, err
	}
	if m, err = manager.New(dir, manager.Options{}); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return m, func() error { return errors.Join(m.Close(), os.RemoveAll(dir)) }, nil
}

// openFor opens the outbox for a set of tools.
func (c *app) openFor(o *mcpOptions) (m *manager.Manager, close func() error, err error) {
	if o.Set == massgen.Name {
		return c.openForMassGen(o)
	}
	if m, err = c.open(); err != nil {
		return nil, nil, err
	}
	return m, m.Close, nil
}

func (c *app) serveModel(ctx context.Context, o mcpOptions) (err error) {
	switch {
	case o.token != "" && o.address == "":
		return cli.Usage("--token-file is for --http")
	case o.socket != "" && o.address != "":
		return cli.Usage("--socket and --http do not go together; start two servers")
	}
	if o.Budgets.Money, err = mcp.ParseMoney(o.money); err != nil {
		return cli.Usage("--max-money: %v", err)
	}
	o.Env = c.Env
	m, closeOutbox, err := c.openFor(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOutbox()) }()
	if o.Set == jarvis.Name {
		if err := c.addJarvis(m.Outbox(), &o); err != nil {
			return err
		}
	}
	server, err := mcp.New(m, o.Options)
	if err != nil {
		return cli.Usage("%v", err)
	}
	// Without a handler the first write to a dead client would end this process, even in the middle of an apply.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	switch {
	case o.socket != "":
		return c.serveSocket(ctx, server, o.socket)
	case o.address != "":
		return c.servePort(ctx, server, o)
	}
	return server.Serve(ctx, c.In, c.Out)
}

// serveSocket serves clients of our own user. It prints the path of the socket.
func (c *app) serveSocket(ctx context.Context, server *mcp.Server, path string) error {
	listener, err := server.ListenSocket(ctx, path)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err := fmt.Fprintln(c.Out, path); err != nil {
		return err
	}
	return server.ServeSocket(ctx, listener)
}

// addJarvis reads the files of agents, and prints the mistakes in them.
func (c *app) addJarvis(outbox string, o *mcpOptions) error {
	o.jarvis.Outbox, o.jarvis.Env = outbox, c.Env
	o.jarvis.Project = cmp.Or(o.jarvis.Project, c.Env("JARVIS_HOME"), ".")
	set, notices, err := jarvis.Open(o.jarvis)
	if err != nil {
		return cli.Usage("%v", err)
	}
	for _, notice := range notices {
		c.Say("%s", notice)
	}
	o.Sets = append(o.Sets, set)
	return nil
}

// servePort serves clients of this machine. It prints the address, and the token if it is not written to a file.
func (c *app) servePort(ctx context.Context, server *mcp.Server, o mcpOptions) error {
	listener, err := mcp.Listen(ctx, o.address)
	if err != nil {
		return cli.Usage("%v", err)
	}
	defer listener.Close()
	// Make the token only now. If another server has the port, that server's token must stay in the file.
	token, said, err := c.newToken(o.token)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out, "http://%s%s\n%s", listener.Addr(), mcp.Path, said); err != nil {
		return err
	}
	return server.ServeHTTP(ctx, listener, token)
}

// newToken makes the token of this start. It writes the token to its file, or returns it as text to show now and never
// again.
func (c *app) newToken(path string) (token mcp.Token, said string, err error) {
	if path == "" {
		token, text := mcp.NewToken()
		return token, text + "\n", nil
	}
	if token, err = mcp.WriteToken(path); err == nil {
		c.Say("the token of this start is in %s", path)
	}
	return token, "", err
}
