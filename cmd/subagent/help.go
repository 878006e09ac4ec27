package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

const introduction = `subagent lets an agent in a container have tasks done by children, each in a sandbox of its own.
The host starts them: a request file goes into the outbox, a response file comes back.`

const firstSteps = `first steps:
  subagent spawn --wait -- 'go test ./...'     do a task and print its answer
  id=$(subagent spawn -- 'make docs')          start one and go on
  subagent wait "$id"                          take its answer later
  subagent list                                see what is going on`

// helpCommand explains other commands.
func (c *cli) helpCommand() command {
	return command{
		name: "help", operands: "[COMMAND]", brief: "explain a command",
		run: func(_ context.Context, operands []string) (int, error) {
			if len(operands) == 0 {
				return c.overview(true)
			}
			commands := c.commands()
			i := slices.IndexFunc(commands, func(cmd command) bool { return cmd.name == operands[0] })
			if i < 0 {
				return 0, unknown("command", operands[0], names(commands))
			}
			return c.explain(commands[i])
		},
	}
}

// overview explains everything in short. Without being asked it is a mistake to end up here.
func (c *cli) overview(asked bool) (int, error) {
	to, code := c.out, exitCompleted
	if !asked {
		to, code = c.errors, exitUsage
	}
	fmt.Fprintf(to, "%s\n\nusage: subagent COMMAND [OPTION…] [OPERAND…]\n\n%s\n", introduction, to.paint(bold, "commands:"))
	for _, cmd := range c.commands() {
		fmt.Fprintf(to, "  %-12s%s\n", cmd.name, cmd.brief)
	}
	fmt.Fprintf(to, "\n%s\n", to.paint(bold, "options of all commands:"))
	writeOptions(to, c.common())
	fmt.Fprintf(to, "\n%s\n", firstSteps)
	writeExitCodes(to)
	return code, nil
}

// explain writes the help of one command.
func (c *cli) explain(cmd command) (int, error) {
	fmt.Fprintf(c.out, "subagent %s: %s\n\n", cmd.name, cmd.brief)
	fmt.Fprintf(c.out, "usage: %s\n", strings.TrimSpace("subagent "+cmd.name+" [OPTION…] "+cmd.operands))
	if cmd.about != "" {
		fmt.Fprintf(c.out, "\n%s\n", strings.TrimSpace(cmd.about))
	}
	fmt.Fprintf(c.out, "\n%s\n", c.out.paint(bold, "options:"))
	writeOptions(c.out, c.optionsOf(cmd))
	if len(cmd.examples) > 0 {
		fmt.Fprintf(c.out, "\n%s\n", c.out.paint(bold, "examples:"))
		for _, example := range cmd.examples {
			fmt.Fprintf(c.out, "  %s\n", example)
		}
	}
	writeExitCodes(c.out)
	return exitCompleted, nil
}

func writeExitCodes(to *output) {
	fmt.Fprintf(to, "\n%s\n", to.paint(bold, "exit codes:"))
	for code, meaning := range exitCodes {
		fmt.Fprintf(to, "  %d  %s\n", code, meaning)
	}
}

// writeOptions writes one line for each option, aligned.
func writeOptions(to io.Writer, options []option) {
	left := make([]string, len(options))
	width := 0
	for i, o := range options {
		short := "    "
		if o.short != "" {
			short = "-" + o.short + ", "
		}
		left[i] = strings.TrimRight(short+"--"+o.name+" "+o.value, " ")
		width = max(width, len(left[i]))
	}
	for i, o := range options {
		fmt.Fprintf(to, "  %-*s  %s\n", width, left[i], o.help)
	}
}
