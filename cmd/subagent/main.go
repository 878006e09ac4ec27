// Command subagent is the parent's side of the hatch. An agent that lives in a container uses it from its shell: to
// spawn children through the outbox, to wait for them, and to follow, list and cancel them.
//
//	id=$(subagent spawn -- 'sleep 5; date')
//	subagent wait "$id"
//
// Standard output carries only the output that the user asked for: an ID, an answer, a list, or with --json one object
// per line. All other words of this command go to standard error. The exit code says how a child ended; see subagent
// help.
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
