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
	"runtime"

	"torno/sandbox/gvisor/keeper"
)

// The main goroutine keeps the main thread, because /proc shows that thread's identity as the process's own. A keeper
// takes another identity on threads that end with their goroutine, and Go ends every thread but the main one.
func init() { runtime.LockOSThread() }

func main() { os.Exit(keeper.Main(os.Args)) }
