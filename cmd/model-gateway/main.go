// Command model-gateway speaks to the APIs of models for children that have no network.
//
//	model-gateway serve --state DIR --config FILE    serves the doors of runs until it is stopped
//	model-gateway try ROUTE --config FILE            sends a request that costs nothing, and says in words what is wrong
//
// A watcher opens and closes doors over the socket gateway.sock in the state directory; docs/GATEWAY.md shows how to do
// so by hand. SIGTERM lets requests under way end first. SIGHUP reads the configuration again.
package main

import (
	"context"
	"os"

	"torno/internal/cli"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], cli.Process()))
}
