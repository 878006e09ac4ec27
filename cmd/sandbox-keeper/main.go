//go:build linux

// Sandbox-keeper stands beside a sandbox that has no engine. Nobody calls it by hand: the watcher starts one for each, with
// the directory in which its order lies. Package keeper says what it does.
package main

import (
	"os"

	"torno/internal/keeper"
)

func main() { os.Exit(keeper.Main(os.Args)) }
