// Package inherit runs a child of MassGen as a process of its parent, without a sandbox. It serves the mode inherited,
// and commands with a prefix. It is for parents whose settings ask for it, and for nothing else.
//
//	process, err := inherit.Start(inherit.Command{Argv: argv, Dir: workspace, Timeout: 5 * time.Minute})
//	<-process.Done()
//	end := process.End()
//
// # Promises
//
// A child has its own process group, and the whole group ends with the child. The package ends the group when the time
// is up (TERM, five seconds, KILL), when the child is cancelled (INT, ten seconds, TERM, five seconds, KILL), and after
// the first process has ended. It keeps only the end of the output, so no output fills the memory. It cannot end a
// process that leaves the group; only a sandbox can.
package inherit
