package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"torno/manager"
)

// maxTask is how much of a task is read from standard input. The watcher's own limit is lower and is what counts.
const maxTask = 64 << 20

// interruptGrace is how long spawn --wait waits for the end of a child that it cancelled.
const interruptGrace = time.Minute

func (c *cli) spawnCommand() command {
	var o manager.SpawnOptions
	var wait bool
	return command{
		name: "spawn", operands: "[--] TASK…", brief: "have a task done by a child",
		about: `
The words of TASK are joined by spaces; a single - reads the task from standard input. Write -- before a task that
begins with a dash. What a task is depends on the profile: a shell command, or a prompt for an agent.

The child writes only into its workspace, reads only what --context names, and has no network. Without --wait its id is
printed, and subagent wait takes its result later. With --wait its answer is printed; an interrupt cancels the child
and waits for its end, a second one leaves at once.`,
		examples: []string{
			"subagent spawn --wait -- 'go test ./...'",
			"subagent spawn --context /src --timeout 20m -- 'cp -r /src/app . && make -C app'",
			"subagent spawn --profile claude --wait - < prompt.md",
		},
		options: []option{
			{name: "wait", help: "wait for the end and print the answer", set: on(&wait)},
			{name: "workspace", value: "DIR", help: "what the child may write; by default a new one in the outbox", set: text(&o.Workspace)},
			{name: "context", value: "PATH", help: "what the child may read; may be repeated", set: list(&o.ContextPaths)},
			{name: "timeout", value: "TIME", help: "how long the child may run; by default 5m", set: duration(&o.Timeout)},
			{name: "profile", value: "NAME", help: "one that the watcher offers; by default its first", set: text(&o.Profile)},
			{name: "model", value: "NAME", help: "the model, for profiles that use one", set: text(&o.Model)},
			{name: "session", value: "ID", help: "the session to resume, for profiles that have them", set: text(&o.SessionID)},
			{name: "parent", value: "ID", help: "who asks, for the records", set: text(&o.ParentID)},
			{name: "answer", value: "FILE", help: "where in the workspace the answer will be; by default answer.txt", set: text(&o.AnswerFile)},
			{name: "id", value: "ID", help: "the subagent; by default a new one", set: text(&o.ID)},
			{name: "replace", help: "end an earlier run of the same subagent", set: on(&o.Replace)},
		},
		run: func(ctx context.Context, operands []string) (int, error) {
			if err := c.complete(&o, operands); err != nil {
				return 0, err
			}
			return c.spawn(ctx, o, wait)
		},
	}
}

// complete fills in the task and makes paths absolute.
func (c *cli) complete(o *manager.SpawnOptions, operands []string) (err error) {
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
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// task is what the operands say, or standard input.
func (c *cli) task(operands []string) (string, error) {
	task := strings.Join(operands, " ")
	if len(operands) == 1 && operands[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(c.in, maxTask+1))
		if err != nil {
			return "", fmt.Errorf("read the task from standard input: %w", err)
		}
		if len(data) > maxTask {
			return "", usage("the task on standard input is over %d bytes long", maxTask)
		}
		task = string(data)
	}
	if strings.TrimSpace(task) == "" {
		return "", usage("there is no task")
	}
	return task, nil
}

// spawn asks for the child, and with wait stays until its end.
func (c *cli) spawn(ctx context.Context, o manager.SpawnOptions, wait bool) (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	run, err := m.Spawn(ctx, o)
	if err != nil {
		return 0, err
	}
	switch {
	case wait:
		result, err := c.waitOrCancel(ctx, run)
		if err != nil {
			return 0, err
		}
		return c.show(result)
	case c.json:
		return exitCompleted, c.object(spawned{
			SubagentID: run.ID(), RequestID: run.RequestID(), Workspace: run.Workspace(), Outbox: m.Outbox(),
		})
	default:
		_, err := fmt.Fprintln(c.out, run.ID())
		return exitCompleted, err
	}
}

// waitOrCancel waits; an interrupt cancels the child, whose end is then waited for.
func (c *cli) waitOrCancel(ctx context.Context, run *manager.Run) (manager.Result, error) {
	result, err := run.Wait(ctx)
	if err == nil || !errors.Is(err, context.Canceled) {
		return result, err
	}
	c.say("cancelling %s; interrupt again to leave at once", run.ID())
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), interruptGrace)
	defer stop()
	if err := run.Cancel(ctx); err != nil {
		return result, err
	}
	return run.Wait(ctx)
}
