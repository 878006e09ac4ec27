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
The agent goes on with its conversation, in the same workspace and with the same profile, in a new sandbox. Its earlier run must have
ended, and its result be taken. A run that was cancelled, or whose time was up, can be gone on with too: with what was known until then.

The host keeps the conversation, of each child the last one, for some weeks. Where it is gone, or the profile has another agent, the
request is refused and says what to do. A profile without an agent has no conversation.`,
		Examples: []string{
			"subagent continue fix -- 'now do the same for the other package'",
			"subagent continue --follow fix - < more.md",
		},
		Options: []cli.Option{
			{Name: "wait", Help: "wait for the end and print the answer", Set: cli.On(&wait)},
			{Name: "follow", Short: "f", Help: "wait, and meanwhile show on standard error what the child does", Set: cli.On(&follow)},
			{Name: "workspace", Value: "DIR", Help: "what the child may write; by default what it had before", Set: cli.Text(&o.Workspace)},
			{Name: "context", Value: "PATH", Help: "what the child may read; may be repeated", Set: cli.List(&o.ContextPaths)},
			{Name: "timeout", Value: "TIME", Help: "how long the child may run; by default what its profile gives", Set: cli.Duration(&o.Timeout)},
			{Name: "profile", Value: "NAME", Help: "another one with the same agent; by default the one before", Set: cli.Text(&o.Profile)},
			{Name: "model", Value: "NAME", Help: "the model, for profiles that use one", Set: cli.Text(&o.Model)},
			{Name: "session", Value: "ID", Help: "the session; by default the last one of the child", Set: cli.Text(&o.SessionID)},
			{Name: "parent", Value: "ID", Help: "the subagent for whose run this is: it ends with that run; another word is kept for the records", Set: cli.Text(&o.ParentID)},
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
