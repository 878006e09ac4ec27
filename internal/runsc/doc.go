// Package runsc finds gVisor's program and decides whether it may run sandboxes.
//
//	program, err := runsc.Find(config.GVisor.Runsc) // by configuration, beside this program, in PATH
//	version, err := program.Version(ctx)            // asks it; warn with version.Warning()
//
// "make build" puts the version Pinned beside the watcher; this version should be used. Find promises that only trusted
// users can exchange the program: Program.Path contains no link, and every directory on the way to it passes the checks
// of package trust. The owner of the running program is trusted too, because this user already decides what the watcher
// does.
//
// Version promises that the program calls itself runsc, and that it is not older than the oldest release without known
// holes. It does not promise that the program tells the truth: Find makes sure that no other user could have put a
// different program there.
//
// Every error is an *Error, which names the next step.
package runsc
