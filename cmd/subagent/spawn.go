package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/internal/cli"
	"torno/manager"
	"torno/manager/patch"
)

// maxTask bounds how much of a task is read from standard input. The watcher's own limit is lower and decides.
const maxTask = 64 << 20

func (c *app) spawnCommand() cli.Command {
	var o manager.SpawnOptions
	var wait, follow bool
	from := copyOptions{how: patch.DefaultHow}
	return cli.Command{
		Name: "spawn", Operands: "[--] TASK…", Brief: "have a task done by a child",
		About: `
Joins the words of TASK by spaces; a single - reads the task from standard input. Write -- before a task that begins
with a dash. The profile decides how the child takes the task: as a shell command, or as a prompt for an agent.

The child writes only into its workspace, reads only the paths that --context names, and has no network. Without --wait, spawn prints
the child's id, unless the host refuses the request at once; subagent wait takes the result later. With --wait, spawn prints the
answer. An interrupt then cancels the child and waits for its end; a second interrupt withdraws the request and leaves at once.

With --copy DIR the new workspace is a copy of a directory; subagent diff then shows the child's changes; get and apply take them out of the copy. If DIR is
the top of a git work tree, the copy has a repository of its own, with the last commits of its branch. spawn leaves out DIR's git
directories and links that lead out of DIR, and names all other files that it leaves out.`,
		Examples: []string{
			"subagent spawn --wait -- 'id; echo hello'",
			"subagent spawn --timeout 20m --id slow -- 'sleep 600'; subagent cancel --wait slow",
			"subagent spawn --context /src --wait -- 'ls /src'        # where the operator lets children read it",
			"subagent spawn --copy . --id fix -- 'fix the tests'; subagent wait fix; subagent diff fix; subagent apply fix",
			"subagent spawn --profile claude --wait - < prompt.md",
		},
		Options: []cli.Option{
			{Name: "wait", Help: "wait for the end and print the answer", Set: cli.On(&wait)},
			{Name: "follow", Short: "f", Help: "wait; meanwhile show on standard error the child's output, or its agent's words and actions", Set: cli.On(&follow)},
			{Name: "workspace", Value: "DIR", Help: "the directory that the child may write; by default a new one in the outbox", Set: cli.Text(&o.Workspace)},
			{Name: "copy", Value: "DIR", Help: "begin with a copy of this directory, so that you can take over the child's changes", Set: cli.Text(&from.dir)},
			{Name: "copy-files", Value: "N", Help: "how many files and directories may be copied; by default 100000", Set: cli.Number(&from.how.Files)},
			{Name: "copy-mib", Value: "N", Help: "how many MiB may be copied; by default 2048", Set: cli.Number(&from.mib)},
			{Name: "copy-ignored", Help: "copy the files that git ignores there, too", Set: cli.On(&from.how.Ignored)},
			{Name: "git", Value: "N", Help: "how many commits the copy's repository has: a number, all or none; by default 100", Set: historyOption(&from.how.History)},
			{Name: "context", Value: "PATH", Help: "a path that the child may read; may be repeated", Set: cli.List(&o.ContextPaths)},
			{Name: "timeout", Value: "TIME", Help: "how long the child may run; by default the time that its profile gives", Set: cli.Duration(&o.Timeout)},
			{Name: "profile", Value: "NAME", Help: "one of the profiles that the watcher offers; by default its first", Set: cli.Text(&o.Profile)},
			{Name: "model", Value: "NAME", Help: "the model, for profiles that use one", Set: cli.Text(&o.Model)},
			{Name: "session", Value: "ID", Help: "the session to go on with; subagent continue knows it by itself", Set: cli.Text(&o.SessionID)},
			{Name: "parent", Value: "ID", Help: "the subagent for whose run the child works: the child ends with that run; a word that names no subagent is kept for the records", Set: cli.Text(&o.ParentID)},
			{Name: "answer", Value: "FILE", Help: "where in the workspace the answer will be; by default answer.txt", Set: cli.Text(&o.AnswerFile)},
			{Name: "id", Value: "ID", Help: "the id of the subagent; by default a new one", Set: cli.Text(&o.ID)},
			c.patienceOption(),
			{Name: "replace", Help: "end an earlier run of the same subagent", Set: cli.On(&o.Replace)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if err := c.complete(&o, operands); err != nil {
				return 0, err
			}
			return c.spawn(ctx, o, from, (*manager.Manager).Spawn, wait || follow, follow)
		},
	}
}

// complete fills in the task and makes paths absolute.
func (c *app) complete(o *manager.SpawnOptions, operands []string) (err error) {
	if o.Task, err = c.task(operands); err != nil {
		return err
	}
	paths := []*string{&o.Workspace}
	for i := range o.ContextPaths {
		paths = append(paths, &o.ContextPaths[i])
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		*path, err = filepath.Abs(*path)
		if err != nil {
			return err
		}
	}
	return nil
}

// task returns the text of the operands, or reads standard input.
func (c *app) task(operands []string) (string, error) {
	task := strings.Join(operands, " ")
	if len(operands) == 1 && operands[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(c.In, maxTask+1))
		if err != nil {
			return "", fmt.Errorf("read the task from standard input: %w", err)
		}
		if len(data) > maxTask {
			return "", cli.Usage("the task on standard input is over %d bytes long", maxTask)
		}
		task = string(data)
	}
	if strings.TrimSpace(task) == "" {
		return "", cli.Usage("there is no task")
	}
	return task, nil
}

// asker sends a request for a child: for a new child, or for a child that goes on.
type asker func(*manager.Manager, context.Context, manager.SpawnOptions) (*manager.Run, error)

// spawn asks for the child. With wait it stays until the child's end; with follow it shows the child's events
// meanwhile.
func (c *app) spawn(ctx context.Context, o manager.SpawnOptions, from copyOptions, ask asker, wait, follow bool) (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	if from.dir != "" {
		if o.Fill, err = c.copier(m, from, o.Workspace); err != nil {
			return 0, err
		}
	}
	o.Made = func(id string) error { return c.forget(m, id) }
	o.Again = func(workspace *os.Root, answer string) error { return c.checkAnswer(m, o.ID, answer, workspace) }
	run, err := ask(m, ctx, o)
	if err != nil {
		return 0, err
	}
	c.keepAsked(m, run)
	if got := run.Timeout(); got < o.Timeout {
		c.Warn(fmt.Sprintf("the child may run for %s, the most that its profile allows, and not for %s", cli.Span(got), cli.Span(o.Timeout)))
	}
	switch {
	case wait:
		stop, show := func(bool) {}, c.show
		if follow {
			show = c.showFollowed
			stop = c.follow(context.WithoutCancel(ctx), run)
		}
		result, err := c.waitOrCancel(ctx, run)
		stop(err == nil)
		if err != nil {
			return 0, err
		}
		return c.deliver(run, result, show)
	default:
		return c.asked(ctx, m, run)
	}
}

// refusalPause bounds how long spawn without --wait waits for a refusal. A refusal comes within milliseconds, if at
// all.
const refusalPause = 100 * time.Millisecond

// asked prints the ID of the child, or why the request was refused.
func (c *app) asked(ctx context.Context, m *manager.Manager, run *manager.Run) (int, error) {
	refused, ok, err := run.AwaitAdmission(ctx, refusalPause)
	switch {
	case err != nil && ctx.Err() == nil:
		return 0, err
	case ok:
		return c.deliver(run, refused, c.show)
	case c.JSON:
		return exitCompleted, c.Out.Object(spawned{
			SubagentID: run.ID(), RequestID: run.RequestID(), Workspace: run.Workspace(), Outbox: m.Outbox(),
		})
	default:
		_, err := fmt.Fprintln(c.Out, run.ID())
		return exitCompleted, err
	}
}
