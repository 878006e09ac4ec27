// Package command runs gVisor's program, runsc, for sandboxes in boxes, and finds the processes that it leaves.
//
//	r := command.Runsc{Program: program, Home: dir}  // the launcher's directory
//	argv := r.Run(id, box, doors)                    // what the box's keeper executes
//	err := r.Signal(ctx, id, box, "TERM")
//	err = command.Kill(ctx, box)                     // without runsc and without a keeper
//	err = r.Forget(id)
//
// What it promises: runsc gets no environment, no network, no control group, and no path that anybody but the host could exchange.
// A process is killed by a handle, and only if its user and its arguments say that it is the runtime's, for that box. What runsc has
// noted of a sandbox goes without executing runsc.
package command
