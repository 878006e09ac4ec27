package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
)

// Program is a program with commands.
type Program struct {
	Name         string
	Introduction string
	FirstSteps   string   // examples, one per line
	ExitCodes    []string // the meaning of each code, from 0 on
	Commands     []Command
	Options      []Option // options of all commands, beside --json and --help
	// Diagnose turns an error into a Trouble. It need not handle usage mistakes or hints.
	Diagnose func(error) Trouble
	// References is a shell command that prints completions, one per line. They complete the operands that begin with
	// Reference. They must not contain characters that mean something to a shell.
	Reference, References string

	System
	JSON bool // --json was given

	help bool
}

// System holds the streams and the environment of a program.
type System struct {
	Env    func(string) string
	In     io.Reader
	Out    *Output
	Errors *Output
}

// Process returns the System of this process.
func Process() System {
	return System{os.Getenv, os.Stdin, NewOutput(os.Stdout, os.Getenv), NewOutput(os.Stderr, os.Getenv)}
}

// Command is one word that the program understands. Run returns the exit code; if Run returns an error, the error
// decides the exit code.
type Command struct {
	Name     string
	Operands string // as the usage line shows them
	Brief    string
	About    string
	Examples []string
	Options  []Option
	Run      func(ctx context.Context, args Args) (int, error)
}

// Main executes one invocation and returns its exit code.
func (p *Program) Main(ctx context.Context, args []string, system System) int {
	p.System = system
	p.JSON = slices.Contains(untilDashes(args), "--json") // JSON errors even if the arguments turn out to be wrong
	code, err := p.dispatch(ctx, args)
	if err == nil && p.Out.Err() != nil {
		err = fmt.Errorf("write to standard output: %w", p.Out.Err()) // done, but the caller does not know
	}
	if err != nil {
		return p.Fail(err)
	}
	return code
}

// dispatch finds the command and runs it. Options that all commands have may also stand before the command.
func (p *Program) dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	rest, err := parse(args, p.common(), false)
	if err != nil {
		return 0, err
	}
	words := rest.All()
	if len(words) == 0 {
		return p.overview(p.help)
	}
	cmd, err := p.find(words[0])
	if err != nil {
		return 0, err
	}
	found, err := parse(words[1:], p.OptionsOf(cmd), true)
	if err != nil {
		return 0, inCommand(p.Name, cmd.Name, inOperands(cmd, found, err))
	}
	if p.help {
		return p.explain(cmd)
	}
	code, err := cmd.Run(ctx, found)
	return code, inCommand(p.Name, cmd.Name, err)
}

// All returns the program's own commands, and completion and help, which every program has.
func (p *Program) All() []Command {
	return slices.Concat(p.Commands, []Command{p.completionCommand(), p.helpCommand()})
}

func (p *Program) find(name string) (Command, error) {
	all := p.All()
	i := slices.IndexFunc(all, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return Command{}, Unknown("command", name, p.names())
	}
	return all[i], nil
}

func (p *Program) names() (all []string) {
	for _, c := range p.All() {
		all = append(all, c.Name)
	}
	return all
}

// common returns the options of all commands.
func (p *Program) common() []Option {
	return slices.Concat(p.Options, []Option{
		{Name: "json", Help: "print JSON, one object per line", Set: On(&p.JSON)},
		{Name: "help", Short: "h", Help: "print this help", Set: On(&p.help)},
	})
}

// OptionsOf returns all options of a command.
func (p *Program) OptionsOf(c Command) []Option { return slices.Concat(c.Options, p.common()) }

func untilDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// Say writes one line for people, unless --json was given.
func (p *Program) Say(format string, args ...any) {
	p.Line(Plain, p.Name+":", fmt.Sprintf(format, args...))
}

// Warn writes a line that should be noticed.
func (p *Program) Warn(text string) { p.Line(Yellow, "warning:", text) }

// Line writes one line for people with a label of ours, unless --json was given. Nothing in text can end the line or
// control the terminal.
func (p *Program) Line(colour Colour, label, text string) {
	if !p.JSON {
		fmt.Fprintln(p.Errors, p.Errors.Paint(colour, label), OneLine(text))
	}
}

// Fail shows an error and returns its exit code.
func (p *Program) Fail(err error) int {
	t := p.diagnose(err)
	if p.JSON {
		_ = p.Out.Object(map[string]any{"error": t, "exit": t.Exit}) // nowhere better to report a failure
		return t.Exit
	}
	p.Line(Red, p.Name+":", t.Text)
	for _, detail := range t.Details {
		fmt.Fprintln(p.Errors, " ", OneLine(detail))
	}
	if t.Next != "" {
		p.Line(Bold, "next:", t.Next)
	}
	return t.Exit
}

// diagnose handles usage mistakes and hints, and leaves the rest to the program's own Diagnose.
func (p *Program) diagnose(err error) Trouble {
	if isUsage(err) {
		return Trouble{Exit: exitUsage, Code: "usage", Text: err.Error(), Next: nextOf(err)}
	}
	t := p.Diagnose(err)
	if next := nextOf(err); next != "" {
		t.Next = next
	}
	return t
}
