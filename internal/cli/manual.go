package cli

import (
	"fmt"
	"strings"

	"torno/internal/version"
)

// manual writes everything that help says as one page of man(1), from the same tables.
func (p *Program) manual() (int, error) {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"torno %s\" \"Torno\"\n", strings.ToUpper(roff(p.Name)), roff(version.String()))
	first, _, _ := strings.Cut(strings.ReplaceAll(p.Introduction, "\n", " "), ". ")
	brief := strings.TrimSuffix(strings.TrimPrefix(first, p.Name+" "), ".")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(p.Name), roff(brief))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[OPTION...] [OPERAND...]\n", roff(p.Name))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", lines(p.Introduction))
	fmt.Fprint(&b, ".SH COMMANDS\n")
	for _, cmd := range p.All() {
		p.manualOf(&b, cmd)
	}
	fmt.Fprintf(&b, ".SH OPTIONS\nAll commands take these options:\n%s", manualOptions(p.common()))
	fmt.Fprintf(&b, ".SH \"EXIT STATUS\"\n")
	for code, meaning := range p.ExitCodes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code, roff(meaning))
	}
	fmt.Fprintf(&b, ".SH EXAMPLES\n%s", literal(strings.Split(p.FirstSteps, "\n")))
	_, err := fmt.Fprint(p.Out, b.String())
	return exitOK, err
}

func (p *Program) manualOf(b *strings.Builder, cmd Command) {
	fmt.Fprintf(b, ".SS \"%s\"\n%s\n", roff(strings.TrimSpace(p.Name+" "+cmd.Name+" "+cmd.Operands)), roff(sentence(cmd.Brief)))
	if about := strings.TrimSpace(cmd.About); about != "" {
		fmt.Fprintf(b, ".PP\n%s", lines(about))
	}
	fmt.Fprint(b, manualOptions(cmd.Options))
	if len(cmd.Examples) > 0 {
		fmt.Fprintf(b, ".PP\nExamples:\n%s", literal(cmd.Examples))
	}
}

func manualOptions(options []Option) string {
	var b strings.Builder
	for _, o := range options {
		short := ""
		if o.Short != "" {
			short = "-" + o.Short + ", "
		}
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR %s\n%s\n", roff(short+"--"+o.Name), roff(o.Value), roff(o.Help))
	}
	return b.String()
}

// sentence gives a text a capital letter at the beginning and a full stop at the end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// lines keeps the lines of a text as they are, because some are tables.
func lines(text string) string {
	return ".nf\n" + roffLines(strings.Split(strings.TrimSpace(text), "\n")) + ".fi\n"
}

// literal formats commands as they are, indented.
func literal(commands []string) string { return ".PP\n.nf\n.RS\n" + roffLines(commands) + ".RE\n.fi\n" }

func roffLines(all []string) string {
	var b strings.Builder
	for _, line := range all {
		b.WriteString(roff(line) + "\n")
	}
	return b.String()
}

// roff escapes a text so that nothing in it means anything to man: no escape, and no request at the beginning of a
// line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "…", "...", "→", "->").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
