// Package hostroot makes the system that a sandbox with the host's programs sees: an empty root, the host's programs
// over it, read-only, and a directory of our own in place of the host's /etc.
//
//	system, err := hostroot.Prepare(stateDir) // once: find the programs, and make our /etc, named after its content
//	err = system.Layout.Lay(root)             // make the empty root; for an engine, its Entries go into an image
//	binds, err := hostroot.Around(system.Binds(), prefixes) // leave out the places of a profile's programs
//	for _, bind := range binds { … } // bind each read-only, without the mounts below it
//
// The files of /etc that differ from sandbox to sandbox (UserEtc) are links in our /etc. They lead into the sandbox's
// own run directory.
//
// The package promises: of the host's /etc it shows only files on a list, and only if every user of the host may read
// them. It shows nothing that an administrator has put into /usr/local. No link leads out of the directories with
// programs. The empty root holds no file, and nothing that belongs to a user.
package hostroot
