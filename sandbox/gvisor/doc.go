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
// What is where, in the state directory's part of ours:
//
//	slots/N         the staging directory of a sandbox: its root, its mounts, its run directory
//	boxes/KEY       what its keeper needs and leaves; the name is the key's hash, and the handle's id
//	etc-…, init-…   what all sandboxes share, named by content
//
// Who owns what: a box's files are the keeper's from its start to its end; before and after that they are the launcher's,
// which has nothing in memory that it could not find again there, but the output's first line.
//
// What can fail: Create undoes what it has made; a box that was not finished has a name that no List shows, and goes at the
// next New. Start fails with runsc's own words. A keeper that was killed leaves a sandbox of which nobody knows how it ended:
// it is killed when it is found, and its exit is Unknown. What cannot be removed is found again by List.
package gvisor

// Name is what handles call this launcher.
const Name = "gvisor"
