package main

import (
	"context"

	"torno/internal/cli"
	"torno/manager"
)

func (c *app) continueCommand() cli.Command {
	var o manager.SpawnOptions
	var wait, follow bool
	return cli.Command{
		Name: "continue", Operands: "ID [--] TASK…", Brief: "have a child go on where it stopped",
		About: `
The agent goes on with its conversation, in the same workspace and with the same profile, in a new sandbox. The run before must have
ended, and its result must be taken. You can also continue a run that was cancelled or whose time was up: the agent then knows the
conversation up to that point.

The host keeps the last conversation of each child for some weeks. If the conversation is gone, or the profile has another agent, the
host refuses the request and says what to do. A profile without an agent has no conversation.`,
		Examples: []string{
			"subagent continue fix -- 'now do the same for the other package'",
			"subagent continue --follow fix - < more.md",
		},
		Options: []cli.Option{
			{Name: "wait", Help: "wait for the end and print the answer", Set: cli.On(&wait)},
			{Name: "follow", Short: "f", Help: "wait; meanwhile show on standard error the child's output, or its agent's words and actions", Set: cli.On(&follow)},
			{Name: "workspace", Value: "DIR", Help: "the directory that the child may write; by default its workspace of the run before", Set: cli.Text(&o.Workspace)},
			{Name: "context", Value: "PATH", Help: "a path that the child may read; may be repeated", Set: cli.List(&o.ContextPaths)},
			{Name: "timeout", Value: "TIME", Help: "how long the child may run; by default the time that its profile gives", Set: cli.Duration(&o.Timeout)},
			{Name: "profile", Value: "NAME", Help: "another profile with the same agent; by default the profile of the run before", Set: cli.Text(&o.Profile)},
			{Name: "model", Value: "NAME", Help: "the model, for profiles that use one", Set: cli.Text(&o.Model)},
			{Name: "session", Value: "ID", Help: "the session to go on with; by default the last session of the child", Set: cli.Text(&o.SessionID)},
			{Name: "parent", Value: "ID", Help: "the subagent for whose run the child works: the child ends with that run; a word that names no subagent is kept for the records", Set: cli.Text(&o.ParentID)},
			{Name: "answer", Value: "FILE", Help: "where in the workspace the answer will be; by default answer.txt", Set: cli.Text(&o.AnswerFile)},
			c.patienceOption(),
			{Name: "replace", Help: "go on although the result of the run before was not taken", Set: cli.On(&o.Replace)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if len(operands) < 2 {
				return 0, cli.Usage("continue takes the id of a subagent and a task")
			}
			o.ID = operands[0]
			if err := c.complete(&o, operands[1:]); err != nil {
				return 0, err
			}
			return c.spawn(ctx, o, copyOptions{}, (*manager.Manager).Continue, wait || follow, follow)
		},
	}
}
