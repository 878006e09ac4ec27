package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// helpCommand explains other commands.
func (p *Program) helpCommand() Command {
	var manual bool
	return Command{
		Name: "help", Operands: "[COMMAND]", Brief: "explain a command",
		Options: []Option{{Name: "man", Help: "print everything as a page for man(1)", Set: On(&manual)}},
		Run: func(_ context.Context, args Args) (int, error) {
			words := args.All()
			if manual {
				return p.manual()
			}
			if len(words) == 0 {
				return p.overview(true)
			}
			cmd, err := p.find(words[0])
			if err != nil {
				return 0, err
			}
			return p.explain(cmd)
		},
	}
}

// overview explains everything in short. Unless the user asked for it, ending up here is a mistake.
func (p *Program) overview(asked bool) (int, error) {
	to, code := p.Out, exitOK
	if !asked {
		to, code = p.Errors, exitUsage
	}
	fmt.Fprintf(to, "%s\n\nusage: %s COMMAND [OPTION…] [OPERAND…]\n\n%s\n", p.Introduction, p.Name, to.Paint(Bold, "commands:"))
	for _, cmd := range p.All() {
		fmt.Fprintf(to, "  %-12s%s\n", cmd.Name, cmd.Brief)
	}
	fmt.Fprintf(to, "\n%s\n", to.Paint(Bold, "options of all commands:"))
	writeOptions(to, p.common())
	fmt.Fprintf(to, "\n%s\n%s\n", to.Paint(Bold, "first steps:"), indented(p.FirstSteps))
	p.writeExitCodes(to)
	return code, nil
}

func (p *Program) writeExitCodes(to *Output) {
	fmt.Fprintf(to, "\n%s\n", to.Paint(Bold, "exit codes:"))
	for code, meaning := range p.ExitCodes {
		fmt.Fprintf(to, "  %d  %s\n", code, meaning)
	}
}

// explain writes the help of one command.
func (p *Program) explain(cmd Command) (int, error) {
	fmt.Fprintf(p.Out, "%s %s: %s\n\n", p.Name, cmd.Name, cmd.Brief)
	fmt.Fprintf(p.Out, "usage: %s\n", strings.TrimSpace(p.Name+" "+cmd.Name+" [OPTION…] "+cmd.Operands))
	if cmd.About != "" {
		fmt.Fprintf(p.Out, "\n%s\n", strings.TrimSpace(cmd.About))
	}
	fmt.Fprintf(p.Out, "\n%s\n", p.Out.Paint(Bold, "options:"))
	writeOptions(p.Out, p.OptionsOf(cmd))
	if len(cmd.Examples) > 0 {
		fmt.Fprintf(p.Out, "\n%s\n%s\n", p.Out.Paint(Bold, "examples:"), indented(strings.Join(cmd.Examples, "\n")))
	}
	p.writeExitCodes(p.Out)
	return exitOK, nil
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// writeOptions writes one line for each option, aligned.
func writeOptions(to io.Writer, options []Option) {
	left := make([]string, len(options))
	width := 0
	for i, o := range options {
		short := "    "
		if o.Short != "" {
			short = "-" + o.Short + ", "
		}
		left[i] = strings.TrimRight(short+"--"+o.Name+" "+o.Value, " ")
		width = max(width, len(left[i]))
	}
	for i, o := range options {
		fmt.Fprintf(to, "  %-*s  %s\n", width, left[i], o.Help)
	}
}
