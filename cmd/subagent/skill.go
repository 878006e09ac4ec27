package main

import (
	"context"
	_ "embed"
	"fmt"

	"torno/internal/cli"
)

// skill teaches an agent to delegate. It belongs in the file of instructions that the agent reads, CLAUDE.md or
// AGENTS.md.
//
//go:embed skill.md
var skill string

func (c *app) skillCommand() cli.Command {
	return cli.Command{
		Name: "skill", Brief: "print a page that teaches an agent to delegate",
		About: `
Add the page to the file of instructions that an agent reads at its start.`,
		Examples: []string{"subagent skill >> CLAUDE.md", "subagent skill >> AGENTS.md"},
		Run: func(_ context.Context, args cli.Args) (int, error) {
			if operands := args.All(); len(operands) > 0 {
				return 0, cli.Usage("skill takes no operands, but there is %q", operands[0])
			}
			_, err := fmt.Fprint(c.Out, skill)
			return exitCompleted, err
		},
	}
}
