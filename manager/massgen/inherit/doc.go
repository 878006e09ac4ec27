// Package inherit runs a child of MassGen as a process of its parent's own: the mode inherited, and what a prefix leads to. There is no sandbox. It is
// for parents whose settings say so, and for nothing else.
//
//	process, err := inherit.Start(inherit.Command{Argv: argv, Dir: workspace, Timeout: 5 * time.Minute})
//	<-process.Done()
//	end := process.End()
//
// # Promises
//
// A child has a process group of its own, and all of it ends with the child: when its time is up (TERM, five seconds, KILL), when it is cancelled (INT,
// ten seconds, TERM, five seconds, KILL), and when the first process has ended. What it prints is kept at its end alone, so that no
// output takes memory. A child that leaves the group cannot be ended; a sandbox is what holds such a one.
package inherit
