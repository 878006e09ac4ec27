// Package hostroot is what a sandbox with the host's programs sees as its system: an empty root, with the host's
// programs over it, read-only, and a directory of our own in place of the host's /etc.
//
//	system, err := hostroot.Prepare(stateDir) // once: where programs are, and our /etc, which is named by its content
//	err = system.Layout.Lay(root)             // the empty root; for an engine, its Entries go into an image
//	binds, err := hostroot.Around(system.Binds(), prefixes) // without the place in which a profile's programs are shown
//	for _, bind := range binds { … } // each read-only, and without what is mounted below it
//
// The files of /etc that differ from sandbox to sandbox (UserEtc) are links there, which lead into the sandbox's own run
// directory.
//
// What it promises: only files of the host's /etc that every user of the host may read, and of these only the files on
// a list; nothing that an administrator has put into /usr/local; no link out of where programs are; and no file, nor
// anything that belongs to a user, in the empty root.
package hostroot
