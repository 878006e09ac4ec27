// Command subagent is the parent's side of the hatch, for the shell of an agent that lives in a container: it spawns
// children through the outbox, waits for them, follows, lists and cancels them.
//
//	id=$(subagent spawn -- 'sleep 5; date')
//	subagent wait "$id"
//
// Standard output carries only what was asked for: an id, an answer, a list, or with --json one object per line. Words
// of this command go to standard error. The exit code says how a child ended; see subagent help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"torno/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the command at once
	os.Exit(run(ctx, os.Args[1:], cli.Process()))
}
