// Command watcher is the host's side of the hatch. It serves outboxes, and it shows an operator what happens in them.
//
//	watcher run --dir ./outbox            serve one directory, on a workstation
//	watcher run --config watcher.yaml     serve the outboxes that a file names
//	watcher ps -a                         list runs that go on and runs that have ended
//
// Logs go to standard error. Results go to standard output, with --json as one object per line. See watcher help and
// docs/OPERATIONS.md.
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
