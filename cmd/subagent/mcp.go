package main

import (
	"context"
	"strings"

	"torno/internal/cli"
	"torno/manager/mcp"
)

func (c *app) mcpCommand() cli.Command {
	o := mcp.Options{Env: func(name string) string { return c.Env(name) }}
	return cli.Command{
		Name: "mcp", Brief: "serve a model: delegate, wait, read and apply as tools",
		About: `
Speaks the Model Context Protocol with the client that has started it, on standard input and output: an agent has it in the
list of its MCP servers. The tools are those of a set; docs/MCP.md has them.`,
		Examples: []string{"claude mcp add torno -- subagent mcp", "codex mcp add torno -- subagent mcp"},
		Options: []cli.Option{
			{Name: "tools", Value: "SET", Help: "which tools: " + strings.Join(mcp.SetNames(), ", "), Set: cli.Text(&o.Set)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if operands := args.All(); len(operands) > 0 {
				return 0, cli.Usage("mcp takes no operands, but there is %q", operands[0])
			}
			m, err := c.open()
			if err != nil {
				return 0, err
			}
			defer m.Close()
			server, err := mcp.New(m, o)
			if err != nil {
				return 0, cli.Usage("%v", err)
			}
			return exitCompleted, server.Serve(ctx, c.In, c.Out)
		},
	}
}
