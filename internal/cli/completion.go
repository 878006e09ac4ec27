package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

var shells = []string{"bash", "zsh", "fish"}

func (p *Program) completionCommand() Command {
	return Command{
		Name: "completion", Operands: strings.Join(shells, "|"), Brief: "print a completion script for a shell",
		About: p.completesReferences(),
		Examples: []string{
			fmt.Sprintf(`eval "$(%s completion bash)"      in ~/.bashrc`, p.Name),
			fmt.Sprintf(`eval "$(%s completion zsh)"       in ~/.zshrc, after compinit`, p.Name),
			fmt.Sprintf("%s completion fish > ~/.config/fish/completions/%s.fish", p.Name, p.Name),
		},
		Run: func(_ context.Context, args Args) (int, error) {
			words := args.All()
			if len(words) != 1 {
				return 0, Usage("completion takes one shell: %s", strings.Join(shells, ", "))
			}
			scripts := map[string]func() string{"bash": p.bash, "zsh": p.zsh, "fish": p.fish}
			script, ok := scripts[words[0]]
			if !ok {
				return 0, Unknown("shell", words[0], shells)
			}
			_, err := fmt.Fprint(p.Out, script())
			return exitOK, err
		},
	}
}

func (p *Program) completesReferences() string {
	if p.Reference == "" {
		return ""
	}
	return fmt.Sprintf("The script also completes %s, with the words that %s prints.", p.Reference, p.References)
}

// candidates returns the words that may follow a command: its options, and words for its operands.
func (p *Program) candidates(cmd Command) string {
	words := dashed(p.OptionsOf(cmd))
	switch {
	case cmd.Name == "help":
		words = append(words, p.names()...)
	case cmd.Name == "completion":
		words = append(words, shells...)
	case p.takesReferences(cmd):
		words = append(words, "$("+p.References+" 2>/dev/null)")
	}
	return strings.Join(words, " ")
}

func (p *Program) takesReferences(c Command) bool {
	return p.Reference != "" && strings.HasPrefix(c.Operands, p.Reference)
}

// takesPath reports whether the shell completes the value of an option with file names.
func (o Option) takesPath() bool {
	return slices.Contains([]string{"DIR", "PATH", "FILE", "ROOT"}, o.Value)
}

// paths returns all options whose value is a path, as a shell pattern.
func (p *Program) paths() string {
	var all []string
	for _, cmd := range p.All() {
		for _, o := range p.OptionsOf(cmd) {
			if o.takesPath() && !slices.Contains(all, "--"+o.Name) {
				all = append(all, "--"+o.Name)
			}
		}
	}
	return strings.Join(all, " | ")
}

// wordsOf calls each for every option whose values can be listed.
func (p *Program) wordsOf(each func(name string, words []string)) {
	var seen []string
	for _, cmd := range p.All() {
		for _, o := range p.OptionsOf(cmd) {
			if o.Words != nil && !slices.Contains(seen, o.Name) {
				seen = append(seen, o.Name)
				each("--"+o.Name, o.Words)
			}
		}
	}
}

func (p *Program) bash() string {
	var values strings.Builder
	p.wordsOf(func(name string, words []string) {
		fmt.Fprintf(&values, "    %s) COMPREPLY=($(compgen -W \"%s\" -- \"$current\")); return ;;\n", name, strings.Join(words, " "))
	})
	var cases strings.Builder
	for _, cmd := range p.All() {
		fmt.Fprintf(&cases, "    %s) words=\"%s\" ;;\n", cmd.Name, p.candidates(cmd))
	}
	return fmt.Sprintf(`_%[1]s() {
  local current="${COMP_WORDS[COMP_CWORD]}" words="%[2]s"
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    %[3]s) compopt -o default 2>/dev/null; COMPREPLY=(); return ;;
%[5]s  esac
  if ((COMP_CWORD > 1)); then
    case "${COMP_WORDS[1]}" in
%[4]s    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -F _%[1]s %[1]s
`, p.Name, strings.Join(p.names(), " "), p.paths(), cases.String(), values.String())
}

func (p *Program) zsh() string {
	var commands, cases, values strings.Builder
	p.wordsOf(func(name string, words []string) {
		fmt.Fprintf(&values, "    %s) compadd -- %s; return ;;\n", name, strings.Join(words, " "))
	})
	for _, cmd := range p.All() {
		fmt.Fprintf(&commands, "      '%s:%s'\n", cmd.Name, shellQuoted(cmd.Brief))
		fmt.Fprintf(&cases, "    %s) items=(%s) ;;\n", cmd.Name, p.candidates(cmd))
	}
	return fmt.Sprintf(`#compdef %[1]s
_%[1]s() {
  local -a items
  if ((CURRENT == 2)); then
    items=(
%[2]s    )
    _describe command items
    return
  fi
  case $words[CURRENT-1] in
    %[3]s) _files; return ;;
%[5]s  esac
  case $words[2] in
%[4]s  esac
  compadd -- $items
}
if [ "$funcstack[1]" = _%[1]s ]; then
  _%[1]s "$@"
else
  compdef _%[1]s %[1]s
fi
`, p.Name, commands.String(), p.paths(), cases.String(), values.String())
}

func (p *Program) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "complete -c %s -f\n", p.Name)
	for _, cmd := range p.All() {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d '%s'\n", p.Name, cmd.Name, shellQuoted(cmd.Brief))
		seen := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", p.Name, cmd.Name)
		for _, o := range p.OptionsOf(cmd) {
			fmt.Fprintf(&b, "%s -l %s%s -d '%s'\n", seen, o.Name, o.fish(), shellQuoted(o.Help))
		}
		switch {
		case p.takesReferences(cmd):
			fmt.Fprintf(&b, "%s -a '(%s 2>/dev/null)'\n", seen, p.References)
		case cmd.Name == "completion":
			fmt.Fprintf(&b, "%s -a '%s'\n", seen, strings.Join(shells, " "))
		}
	}
	return b.String()
}

// fish returns the words that describe an option's short form and its value to fish.
func (o Option) fish() string {
	words := ""
	if o.Short != "" {
		words = " -s " + o.Short
	}
	switch {
	case o.takesPath():
		words += " -r -F"
	case o.Words != nil:
		words += " -x -a '" + strings.Join(o.Words, " ") + "'"
	case o.Value != "":
		words += " -x"
	}
	return words
}

// ShellWord quotes a text, if necessary, so that a shell reads it as one word.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:@%+=,-", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + shellQuoted(text) + "'"
}

// shellQuoted escapes a text so that it can stand between single quotes.
func shellQuoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }
