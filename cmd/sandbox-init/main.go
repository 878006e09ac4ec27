//go:build linux

// Sandbox-init is process 1 of every sandbox. It is not for use by hand: a launcher starts it, with the nonce of the
// run file that the launcher has put at /run/torno/run/run.json.
//
//	sandbox-init NONCE     proves the sandbox, runs the agent, and ends with the agent's exit code
//	sandbox-init version   prints the version; serves as an agent that does nothing
//
// After the line "torno-init 1 started …" the exit codes are the agent's: n for exit n, 128+n for signal n, 126 for a
// program that cannot be executed, 127 for a program that does not exist. There is one exception: 254 stands for 0,
// because an engine may make up a 0. Without that line the agent was not started. The code is then 125, and the line
// "torno-init 1 failed …" says why. Package initproc states the promises, package runfile the protocol.
//
// Go's runtime need not look at the control groups, because init has one processor, and need not give its mappings
// names. In gVisor both would cost each start more than a millisecond.
//
//go:debug containermaxprocs=0
//go:debug decoratemappings=0
package main

import (
	"os"

	"torno/internal/initproc"
)

func main() { os.Exit(initproc.Main(os.Args)) }
