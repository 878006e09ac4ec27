package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"torno/internal/cli"
	"torno/internal/control"
	"torno/internal/serve"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// printChecked prints the configuration as a valid file, and everything else as comments after it.
func (a *app) printChecked(c *checked) error {
	text, err := c.config.Marshal()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Out.Object(c.json(string(text)))
	}
	for _, w := range c.warnings {
		a.Warn(w.String())
	}
	fmt.Fprint(a.Out, string(text))
	for _, p := range c.profiles {
		if p.Chosen != "" {
			fmt.Fprintf(a.Out, "\n# Profile %s is launched by %s: %s.\n", p.Name, p.Sandbox, p.Chosen)
		}
	}
	for _, p := range c.profiles {
		if p.RootFS.Host || len(p.Programs) > 0 {
			fmt.Fprintf(a.Out, "\n# What children of profile %s see of this machine, read-only:\n", p.Name)
			a.Out.Table("#   ", programRows(p))
		}
	}
	for _, p := range c.profiles {
		if p.Approvals != nil {
			fmt.Fprintf(a.Out, "\n# The agent of profile %s asks before it uses a tool, and gets the approved call back. The host has only the child's word that it asks, and that it runs only the approved call:\n"+
				"# the protocol of %s does not show the calls that it executes. The sandbox is the wall.\n", p.Name, p.Agent)
		}
	}
	for _, d := range c.doors() {
		fmt.Fprintf(a.Out, "\n# What profile %s reaches through the gateway:\n", d.Profile)
		a.Out.Table("#   ", d.rows())
	}
	for _, name := range slices.Sorted(maps.Keys(c.guarantees)) {
		fmt.Fprintf(a.Out, "\n# What %s enforces here, according to %s:\n", name, c.asked)
		a.Out.Table("#   ", guaranteeRows(c.guarantees[name]))
	}
	if len(c.notAhead) > 0 && c.config.Pool.Size != 0 {
		fmt.Fprintf(a.Out, "\n# Sandboxes that are made ahead of runs:\n")
		a.Out.Table("#   ", c.aheadRows())
	}
	if len(c.tries) > 0 {
		fmt.Fprintf(a.Out, "\n# How long an agent that does nothing takes:\n")
		a.Out.Table("#   ", tryRows(c.tries))
	}
	if len(c.routes) > 0 {
		fmt.Fprintf(a.Out, "\n# Answers of the upstreams of the gateway's routes:\n")
		a.Out.Table("#   ", routeRows(c.routes))
	}
	return nil
}

// programRows lists the places of this machine that children of a profile see, and the path that they search for
// commands.
func programRows(p compile.Profile) (rows [][]cli.Cell) {
	if p.RootFS.Host {
		rows = append(rows, cli.Row("/usr, /bin, /sbin, /lib*", "without /usr/local"), cli.Row("/etc", "a copy of a few files that every user may read"))
	}
	for _, given := range p.Programs {
		row := cli.Row(given.As, "programs")
		if given.As != given.Host {
			row[1].Text = "programs, here " + given.Host
		}
		rows = append(rows, row)
	}
	return append(rows, cli.Row("PATH", cmp.Or(p.Env["PATH"], p.SearchPath())))
}

func guaranteeRows(g sandbox.Guarantees) (rows [][]cli.Cell) {
	for _, key := range sandbox.GuaranteeKeys {
		word := cli.Cell{Text: "yes", Colour: cli.Green}
		if !g[key].Enforced {
			word = cli.Cell{Text: "NO", Colour: cli.Red}
		}
		rows = append(rows, []cli.Cell{{Text: string(key)}, word, {Text: cli.OneLine(g[key].By)}})
	}
	return rows
}

// aheadRows lists for each profile whether its sandboxes are made ahead of runs, and if not, why.
func (c *checked) aheadRows() (rows [][]cli.Cell) {
	for _, p := range c.profiles {
		why := c.notAhead[p.Sandbox]
		if _, err := sandbox.ShapeOf(sandbox.Spec{RootFS: p.RootFS, Sockets: p.Sockets, Door: p.Door}); why == "" && err != nil {
			why = err.Error()
		}
		word := cli.Cell{Text: "yes", Colour: cli.Green}
		if why != "" {
			word = cli.Cell{Text: "no", Colour: cli.Dim}
		}
		rows = append(rows, []cli.Cell{{Text: p.Name}, word, {Text: cli.OneLine(why)}})
	}
	return rows
}

func tryRows(tries []tried) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Row("outbox", "profile", "create", "start", "run", "remove", "result")}
	for _, t := range tries {
		row := cli.Row(t.Outbox, t.Profile)
		for _, d := range []float64{t.Create.Seconds(), t.Start.Seconds(), t.Run.Seconds(), t.Remove.Seconds()} {
			row = append(row, cli.Cell{Text: ms(d * 1000)})
		}
		result := cli.Cell{Text: "works", Colour: cli.Green}
		if t.err != nil {
			result = cli.Cell{Text: cli.OneLine(t.err.Error()), Colour: cli.Red}
		}
		rows = append(rows, append(row, result))
	}
	return rows
}

func routeRows(routes []serve.RouteAttempt) (rows [][]cli.Cell) {
	for _, r := range routes {
		word := cli.Cell{Text: "works", Colour: cli.Green}
		if !r.Works {
			word = cli.Cell{Text: "WRONG: " + cli.OneLine(r.Wrong), Colour: cli.Red}
		}
		rows = append(rows, []cli.Cell{{Text: r.Route}, word, {Text: cli.OneLine(r.Text)}})
	}
	return rows
}

// json returns the findings for programs: the same facts that printChecked prints for people.
func (c *checked) json(config string) map[string]any {
	warnings := []string{}
	for _, w := range c.warnings {
		warnings = append(warnings, w.String())
	}
	tries := []map[string]any{}
	for _, t := range c.tries {
		try := map[string]any{"outbox": t.Outbox, "profile": t.Profile, "works": t.err == nil, "timings_ms": map[string]float64{
			"create": t.Create.Seconds() * 1000, "start": t.Start.Seconds() * 1000,
			"run": t.Run.Seconds() * 1000, "remove": t.Remove.Seconds() * 1000,
		}}
		if t.err != nil {
			try["error"] = t.err.Error()
		}
		tries = append(tries, try)
	}
	return map[string]any{
		"config": config, "warnings": warnings, "asked": c.asked, "profiles": c.launchers(), "guarantees": c.guarantees, "tries": tries,
		"doors": c.doors(), "routes": append([]serve.RouteAttempt{}, c.routes...),
	}
}

// launchers returns the launcher of each profile, in the form of a watcher's status.
func (c *checked) launchers() []control.Profile {
	all := []control.Profile{}
	for _, p := range c.profiles {
		all = append(all, control.Profile{Name: p.Name, Launcher: p.Sandbox, Chosen: p.Chosen})
	}
	return all
}
