package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"torno/internal/cli"
	"torno/manager"
	"torno/manager/patch"
)

func (c *app) getCommand() cli.Command {
	var pick pickOptions
	var to string
	var may patch.Getting
	return cli.Command{
		Name: "get", Operands: "ID [PATH…] --to DIR", Brief: "copy files out of a child's workspace",
		About: `
Copies the PATHs, or everything, into DIR, with the directories in which they lie. It makes DIR if DIR does not exist. It works
with every workspace.

It leaves out git directories, links that lead out of the workspace, set-id files, files with several names, devices and the
like, and names with invisible characters. Without --replace it also leaves out files that are in DIR already. If DIR is in a
repository, or was copied for the child, it leaves out files that may run by themselves, unless you give --allow-autorun.
If it leaves something out, it names it, and the exit code is 5. With --json it prints one object for each path.`,
		Examples: []string{"subagent get fix report.html --to /tmp/report", "subagent get fix --to ./fixed --without node_modules"},
		Options: []cli.Option{
			{Name: "to", Value: "DIR", Help: "the directory to copy to", Set: cli.Text(&to)},
			{Name: "replace", Help: "replace files that are in DIR already", Set: cli.On(&may.Replace)},
			{Name: "allow-autorun", Help: "copy files that may run by themselves, even into a repository", Set: cli.On(&may.Autorun)},
			pick.option(),
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if to == "" {
				return 0, cli.Usage("where to? --to DIR is missing")
			}
			return c.withWorkspace(args.All(), pick, func(m *manager.Manager, from place) (int, error) {
				may.Home = c.isHome(m, from.id, to)
				return c.get(ctx, m, from, to, may)
			})
		},
	}
}

// isHome reports whether dir is the directory that the child has a copy of.
func (c *app) isHome(m *manager.Manager, id, dir string) bool {
	store, err := c.store(m)
	if err != nil {
		return false
	}
	defer store.Close()
	base, err := store.Base(id)
	if err != nil {
		return false
	}
	home, err := os.Stat(base.Origin)
	there, thereErr := os.Stat(dir)
	return err == nil && thereErr == nil && os.SameFile(home, there)
}

// got is the --json output for a path that was copied or left out.
type got struct {
	Path         string `json:"path"`
	Copied       *facts `json:"copied,omitempty"`
	LeftOut      string `json:"left_out,omitempty"`
	RunsByItself string `json:"runs_by_itself,omitempty"`
}

func (c *app) get(ctx context.Context, m *manager.Manager, from place, to string, may patch.Getting) (int, error) {
	path, err := filepath.Abs(to)
	if err != nil {
		return 0, err
	}
	dir, err := patch.MakeDirectory(m.Outbox(), path)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	var files int64
	var left, running []string
	unknown, err := patch.Get(ctx, from.root, from.pick, patch.Place{Root: dir, Own: c.own(m)}, may, func(g patch.Got) error {
		switch {
		case g.LeftOut != "":
			left = append(left, fmt.Sprintf("%q: %s", g.Path, g.LeftOut))
		case g.RunsByItself != "":
			running = append(running, fmt.Sprintf("%q: %s", g.Path, g.RunsByItself))
		}
		if g.LeftOut == "" && g.Kind == patch.File {
			files++
		}
		return c.listGot(g)
	})
	if err != nil {
		return 0, err
	}
	c.warnOfHooks(unknown)
	c.Say("copied %s to %s", counted(files, "file"), filepath.Clean(to))
	c.nameEach("runs by itself: ", running)
	c.nameEach("left out: ", left)
	if len(left) > 0 {
		return exitRefused, nil
	}
	return exitCompleted, nil
}

func (c *app) listGot(g patch.Got) error {
	if !c.JSON {
		return nil
	}
	line := got{Path: g.Path, LeftOut: g.LeftOut, RunsByItself: g.RunsByItself}
	if g.LeftOut == "" {
		line.Copied = factsOf(&g.Entry)
	}
	return c.Out.Object(line)
}
