package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"torno/internal/cli"
	"torno/manager/mcp"
	"torno/manager/mcp/stakpak"
)

// mcpOptions say how a model is served.
type mcpOptions struct {
	mcp.Options
	address, token string
	money          string
}

func (c *app) mcpCommand() cli.Command {
	o := mcpOptions{Options: mcp.Options{Sets: []mcp.Set{stakpak.Set()}}}
	return cli.Command{
		Name: "mcp", Brief: "serve a model: delegate, wait, read and apply as tools",
		About: `
Speaks the Model Context Protocol with the client that has started it, on standard input and output: an agent has it in its
list of MCP servers. With --http it serves clients of this machine on a port, which must know a token: that of --token-file,
or one that is printed once. docs/MCP.md has the tools.`,
		Examples: []string{
			"claude mcp add torno -- subagent mcp",
			"codex mcp add torno -- subagent mcp",
			"subagent mcp --http 127.0.0.1:8765 --token-file ~/.torno-token",
		},
		Options: []cli.Option{
			{Name: "tools", Value: "SET", Help: "which tools: " + strings.Join(append(mcp.SetNames(), stakpak.Name), ", "), Set: cli.Text(&o.Set)},
			{Name: "http", Value: "ADDRESS", Help: "serve on a port of the loopback, such as 127.0.0.1:0", Set: cli.Text(&o.address)},
			{Name: "token-file", Value: "FILE", Help: "with --http: the token; the file is made where it does not exist", Set: cli.Text(&o.token)},
			{Name: "parent", Value: "ID", Help: "the subagent for whose run children are: they end with it; another word is kept for the records", Set: cli.Text(&o.Budgets.Parent)},
			{Name: "max-tasks", Value: "N", Help: "tasks of one call; by default 16", Set: cli.Number(&o.Budgets.PerCall)},
			{Name: "max-children", Value: "N", Help: "children at a time; by default 32", Set: cli.Number(&o.Budgets.Children)},
			{Name: "max-tokens", Value: "N", Help: "tokens that children may spend on their models", Set: cli.Number(&o.Budgets.Tokens)},
			{Name: "max-money", Value: "AMOUNT", Help: "money that they may spend, such as 2.50", Set: cli.Text(&o.money)},
			{Name: "depth", Value: "N", Help: "how deep in a tree of agents this one is; by default 0", Set: cli.Number(&o.Budgets.Depth)},
			{Name: "max-depth", Value: "N", Help: "the depth from which none delegates; by default 1", Set: cli.Number(&o.Budgets.MaxDepth)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if operands := args.All(); len(operands) > 0 {
				return 0, cli.Usage("mcp takes no operands, but there is %q", operands[0])
			}
			return exitCompleted, c.serveModel(ctx, o)
		},
	}
}

func (c *app) serveModel(ctx context.Context, o mcpOptions) (err error) {
	if o.token != "" && o.address == "" {
		return cli.Usage("--token-file is for --http")
	}
	if o.Budgets.Money, err = mcp.ParseMoney(o.money); err != nil {
		return cli.Usage("--max-money: %v", err)
	}
	o.Env = c.Env
	m, err := c.open()
	if err != nil {
		return err
	}
	defer m.Close()
	server, err := mcp.New(m, o.Options)
	if err != nil {
		return cli.Usage("%v", err)
	}
	// Without a handler the first write to a client that is dead would end this process, in the middle of an apply, too.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	if o.address == "" {
		return server.Serve(ctx, c.In, c.Out)
	}
	return c.servePort(ctx, server, o)
}

// servePort serves clients of this machine, and says where and how.
func (c *app) servePort(ctx context.Context, server *mcp.Server, o mcpOptions) error {
	listener, err := mcp.Listen(ctx, o.address)
	if err != nil {
		return cli.Usage("%v", err)
	}
	defer listener.Close()
	token, said, err := c.tokenFor(o)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out, "http://%s%s\n%s", listener.Addr(), mcp.Path, said); err != nil {
		return err
	}
	return server.ServeHTTP(ctx, listener, token)
}

// tokenFor reads the token from its file, or makes one that is shown now and never again.
func (c *app) tokenFor(o mcpOptions) (token mcp.Token, said string, err error) {
	if o.token == "" {
		token, text := mcp.NewToken()
		return token, text + "\n", nil
	}
	token, made, err := mcp.ReadToken(o.token)
	if made {
		c.Say("a new token is in %s", o.token)
	}
	return token, "", err
}
