//go:build linux

// Sandbox-keeper looks after one sandbox that has no engine. It is not for use by hand: the watcher starts one for each
// sandbox and names the directory of its order. Package keeper describes its work.
//
// Go's runtime need not look at the control groups: a keeper is in none.
//
//go:debug containermaxprocs=0
package main

import (
	"os"

	"torno/sandbox/gvisor/keeper"
)

func main() { os.Exit(keeper.Main(os.Args)) }
