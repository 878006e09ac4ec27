// Package runsc finds gVisor's program and says whether it is one that sandboxes may be trusted to.
//
//	program, err := runsc.Find(config.GVisor.Runsc) // by configuration, beside this program, in PATH
//	version, err := program.Version(ctx)            // asks it; warn with version.Warning()
//
// make build puts the version Pinned beside the watcher, and that one is meant to be used. Find promises that nobody but
// those who are trusted anyway can exchange what it returns: Program.Path contains no link, the file can be written by its
// owner alone, and no directory on the way lets strangers put another one in its place. As root, all of it has to belong to
// root, or to whoever owns the running program and so decides what runs as root already. A group that may write a
// directory is taken at the word of who let it, which is usual below /usr/local.
//
// Version promises that the program calls itself runsc and is not older than Oldest. It does not promise that the program
// speaks the truth: who could put a liar there is kept away by Find.
//
// Every error is an *Error, which has the next step.
package runsc
