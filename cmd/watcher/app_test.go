package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"torno/internal/cli"
	"torno/sandbox/launchers"
)

// said is what a command prints that must succeed.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, errors bytes.Buffer
	nothing := func(string) string { return "" }
	system := cli.System{Env: nothing, In: strings.NewReader(""), Out: cli.NewOutput(&out, nothing), Errors: cli.NewOutput(&errors, nothing)}
	if code := run(context.Background(), args, system, launchers.All); code != exitOK {
		t.Fatalf("watcher %q: exit %d, %s", args, code, &errors)
	}
	return out.String()
}

// TestEveryCommandIsShown: what there is can be found, in the help and by pressing Tab.
func TestEveryCommandIsShown(t *testing.T) {
	overview := said(t, "help")
	for _, cmd := range newApp(launchers.All).All() {
		if !strings.Contains(overview, "\n  "+cmd.Name+" ") || cmd.Brief == "" {
			t.Errorf("help does not show %s", cmd.Name)
		}
		explained := said(t, "help", cmd.Name)
		for _, o := range cmd.Options {
			if !strings.Contains(explained, strings.TrimSpace("--"+o.Name+" "+o.Value)) {
				t.Errorf("help %s does not show --%s", cmd.Name, o.Name)
			}
		}
		for _, shell := range []string{"bash", "zsh", "fish"} {
			script := said(t, "completion", shell)
			for _, o := range cmd.Options {
				if !strings.Contains(script, cmd.Name) || !strings.Contains(script, o.Name) {
					t.Errorf("completion %s does not know %s --%s", shell, cmd.Name, o.Name)
				}
			}
		}
	}
}

// TestExamplesAreTrue reads every example as the shell and the program would.
func TestExamplesAreTrue(t *testing.T) {
	a := newApp(launchers.All)
	lines := strings.Split(firstSteps, "\n")
	for _, cmd := range a.Commands {
		if len(cmd.Options) > 0 && len(cmd.Examples) == 0 {
			t.Errorf("%s has no example", cmd.Name)
		}
		lines = append(lines, cmd.Examples...)
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if words[0] != "watcher" {
			continue
		}
		i := slices.IndexFunc(a.Commands, func(c cli.Command) bool { return c.Name == words[1] })
		if i < 0 {
			t.Errorf("%q: there is no such command", line)
			continue
		}
		for _, word := range words[2:] {
			if word == "--" || strings.HasPrefix(word, "$(") {
				break
			}
			known := func(o cli.Option) bool { return word == "--"+o.Name || o.Short != "" && word == "-"+o.Short }
			if strings.HasPrefix(word, "-") && !slices.ContainsFunc(a.Commands[i].Options, known) && word != "--json" {
				t.Errorf("%q: there is no %s", line, word)
			}
		}
	}
}

// TestExitCodesAreExplained keeps the table of exit codes complete.
func TestExitCodesAreExplained(t *testing.T) {
	if len(exitCodes) != exitOwed+1 {
		t.Errorf("%d exit codes are explained, there are %d", len(exitCodes), exitNoLauncher+1)
	}
}
