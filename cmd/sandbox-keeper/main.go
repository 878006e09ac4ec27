//go:build linux

// Sandbox-keeper stands beside a sandbox that has no engine. Nobody calls it by hand: the watcher starts one for each, with
// the directory in which its order lies. Package keeper says what it does.
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
