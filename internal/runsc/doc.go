// Package runsc finds gVisor's program and says whether sandboxes may be trusted to it.
//
//	program, err := runsc.Find(config.GVisor.Runsc) // by configuration, beside this program, in PATH
//	version, err := program.Version(ctx)            // asks it; warn with version.Warning()
//
// make build puts the version Pinned beside the watcher, and that one is meant to be used. Find promises that only trusted
// users can exchange the program: Program.Path contains no link, and all that leads to it is held as package trust says. As
// the owner of the running program decides already what the watcher does, that user is trusted too.
//
// Version promises that the program calls itself runsc and is not older than the oldest release without known holes. It does not promise that the program
// speaks the truth: Find makes sure that no other user could have put another program there.
//
// Every error is an *Error, which has the next step.
package runsc
