package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

func (c *cli) completionCommand() command {
	shells := map[string]func() string{"bash": c.bash, "zsh": c.zsh, "fish": c.fish}
	return command{
		name: "completion", operands: "bash|zsh|fish", brief: "print a completion script for a shell",
		about: `
Ids are completed too, from the outbox in TORNO_OUTBOX or /outbox.`,
		examples: []string{
			`eval "$(subagent completion bash)"                          in ~/.bashrc`,
			`eval "$(subagent completion zsh)"                           in ~/.zshrc, behind compinit`,
			"subagent completion fish > ~/.config/fish/completions/subagent.fish",
		},
		run: func(_ context.Context, operands []string) (int, error) {
			if len(operands) != 1 {
				return 0, usage("completion takes one shell: bash, zsh or fish")
			}
			script, ok := shells[operands[0]]
			if !ok {
				return 0, unknown("shell", operands[0], []string{"bash", "zsh", "fish"})
			}
			_, err := fmt.Fprint(c.out, script())
			return exitCompleted, err
		},
	}
}

// candidates are what may follow a command: its options, and words for its operands.
func (c *cli) candidates(cmd command) string {
	words := dashed(c.optionsOf(cmd))
	switch {
	case cmd.name == "help":
		words = append(words, names(c.commands())...)
	case cmd.name == "completion":
		words = append(words, "bash", "zsh", "fish")
	case takesIDs(cmd):
		words = append(words, listIDs)
	}
	return strings.Join(words, " ")
}

// listIDs is what a shell runs for the ids of subagents. They are parsed, so they hold no character of a shell.
const listIDs = "$(subagent list --quiet 2>/dev/null)"

func takesIDs(cmd command) bool { return strings.HasPrefix(cmd.operands, "ID") }

// takesPath says whether files complete the value of an option.
func (o option) takesPath() bool { return o.value == "DIR" || o.value == "PATH" || o.value == "FILE" }

// paths are all options whose value is a path, as a pattern of a shell.
func (c *cli) paths() string {
	var all []string
	for _, cmd := range c.commands() {
		for _, o := range c.optionsOf(cmd) {
			if o.takesPath() && !slices.Contains(all, "--"+o.name) {
				all = append(all, "--"+o.name)
			}
		}
	}
	return strings.Join(all, " | ")
}

func (c *cli) bash() string {
	var cases strings.Builder
	for _, cmd := range c.commands() {
		fmt.Fprintf(&cases, "    %s) words=\"%s\" ;;\n", cmd.name, c.candidates(cmd))
	}
	return fmt.Sprintf(`_subagent() {
  local current="${COMP_WORDS[COMP_CWORD]}" words="%s"
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    %s) compopt -o default 2>/dev/null; COMPREPLY=(); return ;;
  esac
  if ((COMP_CWORD > 1)); then
    case "${COMP_WORDS[1]}" in
%s    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _subagent subagent
`, strings.Join(names(c.commands()), " "), c.paths(), cases.String())
}

func (c *cli) zsh() string {
	var commands, cases strings.Builder
	for _, cmd := range c.commands() {
		fmt.Fprintf(&commands, "      '%s:%s'\n", cmd.name, shellQuoted(cmd.brief))
		fmt.Fprintf(&cases, "    %s) items=(%s) ;;\n", cmd.name, c.candidates(cmd))
	}
	return fmt.Sprintf(`#compdef subagent
_subagent() {
  local -a items
  if ((CURRENT == 2)); then
    items=(
%s    )
    _describe command items
    return
  fi
  case $words[CURRENT-1] in
    %s) _files; return ;;
  esac
  case $words[2] in
%s  esac
  compadd -- $items
}
compdef _subagent subagent
`, commands.String(), c.paths(), cases.String())
}

func (c *cli) fish() string {
	var b strings.Builder
	b.WriteString("complete -c subagent -f\n")
	for _, cmd := range c.commands() {
		fmt.Fprintf(&b, "complete -c subagent -n __fish_use_subcommand -a %s -d '%s'\n", cmd.name, shellQuoted(cmd.brief))
		for _, o := range c.optionsOf(cmd) {
			fmt.Fprintf(&b, "complete -c subagent -n '__fish_seen_subcommand_from %s' -l %s", cmd.name, o.name)
			if o.short != "" {
				fmt.Fprintf(&b, " -s %s", o.short)
			}
			switch {
			case o.takesPath():
				b.WriteString(" -r -F")
			case o.value != "":
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d '%s'\n", shellQuoted(o.help))
		}
		if takesIDs(cmd) {
			fmt.Fprintf(&b, "complete -c subagent -n '__fish_seen_subcommand_from %s' -a '(subagent list --quiet 2>/dev/null)'\n", cmd.name)
		}
	}
	return b.String()
}

// shellQuoted is a text as it stands between single quotes.
func shellQuoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }
