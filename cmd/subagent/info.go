package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
)

func (c *app) infoCommand() cli.Command {
	return cli.Command{
		Name: "info", Brief: "show the profiles and limits of this outbox",
		About: `
Shows the profiles for children, the default first; the directories in which workspaces and context may lie; and how many
children run and wait, and how many may. With --json it prints the watcher's own heartbeat, as the protocol defines it.`,
		Examples: []string{"subagent info", "subagent info --json"},
		Run: func(_ context.Context, args cli.Args) (int, error) {
			if operands := args.All(); len(operands) > 0 {
				return 0, cli.Usage("info takes no operands, but there is %q", operands[0])
			}
			return c.info()
		},
	}
}

func (c *app) info() (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	beat, err := m.Serving()
	if err != nil {
		return 0, err
	}
	if c.JSON {
		return exitCompleted, c.Out.Object(beat)
	}
	c.facts(m.Outbox(), beat)
	c.profiles(beat.Profiles)
	c.notices(beat.Notices, nil)
	return exitCompleted, nil
}

// facts prints the facts that hold for all profiles.
func (c *app) facts(outbox string, beat delegation.Heartbeat) {
	rows := [][]cli.Cell{
		{{Text: "outbox"}, {Text: fmt.Sprintf("%s, served as %s by watcher %s", outbox, beat.Outbox, beat.Watcher)}},
		{{Text: "workspaces"}, {Text: "in " + cmp.Or(strings.Join(beat.Workspaces, ", "), "directories that the watcher does not name")}},
		{{Text: "context"}, {Text: "in " + cmp.Or(strings.Join(beat.Context, ", "), "nothing")}},
		{{Text: "children"}, {Text: fmt.Sprintf("%d run and %d wait; at most %d may run and %d wait", beat.Running, beat.Queued, beat.Limits.Running, beat.Limits.Queue)}},
	}
	c.Out.Table("", rows)
	fmt.Fprintln(c.Out)
}

func (c *app) profiles(offers []delegation.ProfileOffer) {
	rows := [][]cli.Cell{cli.Head("PROFILE", "AGENT", "LAUNCHER", "TIME", "DESCRIPTION")}
	for _, p := range offers {
		agent := cmp.Or(p.Agent, "-")
		if p.Model != "" {
			agent += " " + p.Model
		}
		if p.Approvals {
			agent += ", asks"
		}
		rows = append(rows, []cli.Cell{{Text: p.Name}, {Text: agent}, {Text: cmp.Or(p.Launcher, "-")}, {Text: timeOf(p)}, {Text: cli.OneLine(p.Description)}})
	}
	c.Out.Table("", rows)
}

// timeOf says how long a child of a profile may run: by default, and at most.
func timeOf(p delegation.ProfileOffer) string {
	if p.TimeoutSeconds <= 0 {
		return "-" // an older watcher does not report it
	}
	text, most := cli.Span(time.Duration(p.TimeoutSeconds)*time.Second), time.Duration(p.MaxTimeoutSeconds)*time.Second
	if p.MaxTimeoutSeconds > p.TimeoutSeconds {
		text += ", at most " + cli.Span(most)
	}
	return text
}
