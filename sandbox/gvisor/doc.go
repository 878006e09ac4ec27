// Package gvisor launches sandboxes without an engine: with gVisor, by its program runsc, and a keeper beside each (package
// keeper). docs/decisions/0012-gvisor.md says why it is so.
//
//	l, err := gvisor.New(ctx, gvisor.Options{
//		Options:    local.Options{Installation: id, StateDir: state, InitPath: init, Bases: bases},
//		KeeperPath: keeper, Runsc: runsc,
//	})
//	h, err := l.Create(ctx, key, spec)   // a box: a directory of ours, in which nothing runs
//	err = l.Start(ctx, h)                // a keeper, which starts runsc
//	a, err := l.Open(ctx, h, "")
//
// A sandbox can be made ahead of its run, with nothing of it inside:
//
//	h, err := l.Prepare(ctx, id, shape)  // Start, Open and Attest as ever, while it is empty
//	h, err = l.Furnish(ctx, h, spec)     // mounts, doors and files of a run; Attest again, and release
//
// What is where, in the state directory's part of ours:
//
//	slots/N         the staging directory of a sandbox: its root, its mounts, its run directory
//	boxes/ID        what a sandbox's keeper needs and leaves, by the sandbox's id, which is the handle's
//	etc-…, init-…   what sandboxes share, named by content; they go when no box's record names them any more
//	site            the id of the directory, which is the launcher's site
//
// What knows nothing of the Launcher lies in packages of its own: boxes (the boxes on the disk, and whose they are), bundle (what runsc is
// given), command (calls of runsc, and its processes), groups (control groups), outside (the look from the host), follow (attachments) and
// keeper. What stays here decides in which order they are asked, and has what there is only once: slots, images, lines, turns.
//
// Who owns what: a box's files are the keeper's from its start to its end; before and after that they are the launcher's,
// which has nothing in memory that it could not find again there, but the output's first line.
//
// What can fail: Create undoes what it has made; a box that was not finished has a name that no List shows, and goes at the
// next New. Start fails with runsc's own words. A keeper that was killed leaves a sandbox whose end is not known:
// it is killed when it is found, and its exit is Unknown. What cannot be removed is found again by List.
package gvisor

// Name is what handles call this launcher.
const Name = "gvisor"
