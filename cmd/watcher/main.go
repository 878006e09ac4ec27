// Command watcher is the host's side of the hatch: it serves outboxes, and it is how an operator looks at them.
//
//	watcher run --dir ./outbox            serve one directory, on a workstation
//	watcher run --config watcher.yaml     serve what a file says
//	watcher ps -a                         what runs, and what ran
//
// Logs go to standard error, what was asked for goes to standard output, with --json as one object per line. See watcher
// help and docs/OPERATIONS.md.
package main

import (
	"context"
	"os"

	"torno/internal/cli"
	"torno/sandbox/launchers"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], cli.Process(), launchers.All))
}
