// Package command runs gVisor's program, runsc, for sandboxes in boxes, and finds the processes that it leaves.
//
//	r := command.Runsc{Program: program, Home: dir}  // the launcher's directory
//	argv := r.Run(id, box, doors)                    // what the box's keeper executes
//	err := r.Signal(ctx, id, box, "TERM")
//	err = command.Kill(ctx, box)                     // works without runsc and without a keeper
//	err = r.Forget(id)
//
// The package promises: runsc gets no environment, no network, no control group, and no path that anyone but the host
// could exchange. A process is killed by a handle, and only if its user and its arguments show that it belongs to this
// box's runtime. Forget removes runsc's notes about a sandbox without executing runsc.
package command
