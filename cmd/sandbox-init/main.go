//go:build linux

// Sandbox-init is process 1 of every sandbox. It is not for use by hand: a launcher starts it with the nonce of the run
// file that the launcher has put at /run/torno/run/run.json.
//
//	sandbox-init NONCE     proves the sandbox, runs the agent, and ends with the agent's exit code
//	sandbox-init version   prints the version; serves as an agent that does nothing
//
// Exit codes after the line "torno-init 1 started …" are the agent's: n for exit n, 128+n for signal n, 126 for a program
// that cannot be executed, 127 for a program that does not exist; but 254 for 0, which an engine may make up. Without that line
// the agent was not started; the code is 125 and the line "torno-init 1 failed …" says why. Package initproc states what
// is promised, package runfile the protocol.
//
// Go's runtime need not look at the control groups, since init has one processor, nor give its mappings names: in gVisor
// that would cost each start more than a millisecond.
//
//go:debug containermaxprocs=0
//go:debug decoratemappings=0
package main

import (
	"os"

	"torno/internal/initproc"
)

func main() { os.Exit(initproc.Main(os.Args)) }
