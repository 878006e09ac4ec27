package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/internal/cli"
	"torno/watcher/session"
)

func (a *app) sessionsCommand() cli.Command {
	return cli.Command{
		Name: "sessions", Operands: "[list | export ID | remove ID…]", Brief: "list, copy or remove the sessions that agents need to go on",
		About: `
When an agent's run ends, the watcher keeps its session in the state directory: the agent needs it to go on with its conversation, as
subagent continue asks it to. The watcher keeps the last session of each subagent of an outbox, as long as it keeps runs
(retention.age), at most 1000 sessions and 1 GiB. The oldest go first, from the outbox that has the most.

Sessions hold all that the agent was told, said and read. Only the agent knows the contents of its session: a child has written it, so
treat an export like any file from a stranger.

list    shows the sessions; the command without an operand does the same
export  writes one session to standard output: a gzip file: a line of JSON that describes it, then the agent's files
remove  removes sessions; a subagent without its session begins anew`,
		Examples: []string{"watcher sessions", "watcher sessions export session-0123456789abcdef0123456789abcdef > kept.gz"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			state, err := a.stateDir(ctx)
			if err != nil {
				return 0, err
			}
			words := args.All()
			switch {
			case len(words) == 0 || len(words) == 1 && words[0] == "list":
				return exitOK, a.listSessions(state)
			case len(words) == 2 && words[0] == "export":
				return exitOK, a.exportSession(state, words[1])
			case len(words) > 1 && words[0] == "remove":
				return exitOK, a.removeSessions(state, words[1:])
			}
			return 0, cli.Usage("sessions takes list, export and an id, or remove and ids")
		},
	}
}

func (a *app) listSessions(state string) error {
	all, err := session.List(state)
	if err != nil {
		return err
	}
	if a.JSON {
		for _, r := range all {
			if err := a.Out.Object(r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range all {
		version := ""
		if r.AgentVersion != "" {
			version = " " + cli.OneLine(r.AgentVersion)
		}
		fmt.Fprintf(a.Out, "%s  %s  %s%s, profile %s, %d bytes after run %d, kept %s\n", r.ID, r.Subagent, cli.OneLine(r.Agent), version,
			cli.OneLine(r.Profile), r.Size, r.Runs, r.Kept.Format(time.RFC3339))
	}
	return a.Out.Err()
}

// exportSession writes a session to standard output. It refuses a terminal, because a child has written the bytes.
func (a *app) exportSession(state, id string) error {
	if a.Out.Terminal {
		return cli.Hint(errors.New("a session is not text for a terminal"), "send it to a file: watcher sessions export "+id+" > FILE")
	}
	_, err := session.Export(state, id, a.Out)
	return withNext(err)
}

func (a *app) removeSessions(state string, ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, session.Remove(state, id))
	}
	return withNext(errors.Join(errs...))
}

func withNext(err error) error {
	if errors.Is(err, session.ErrNone) {
		return cli.Hint(err, "watcher sessions lists the sessions that are kept")
	}
	return err
}
