// Package gvisor launches sandboxes without an engine. It uses gVisor through its program runsc, and runs a keeper
// beside each sandbox (package keeper). docs/decisions/0012-gvisor.md gives the reasons.
//
//	l, err := gvisor.New(ctx, gvisor.Options{
//		Options:    local.Options{Installation: id, StateDir: state, InitPath: init, Bases: bases},
//		KeeperPath: keeper, Runsc: runsc,
//	})
//	h, err := l.Create(ctx, key, spec)   // makes a box: a directory of ours; nothing runs in it yet
//	err = l.Start(ctx, h)                // starts a keeper, which starts runsc
//	a, err := l.Open(ctx, h, "")
//
// A sandbox can be made ahead of its run, with nothing of the run inside:
//
//	h, err := l.Prepare(ctx, id, shape)  // then Start, Open and Attest as usual, while it is empty
//	h, err = l.Furnish(ctx, h, spec)     // adds mounts, doors and files of a run; Attest again, and release
//
// The launcher's part of the state directory contains:
//
//	slots/N         the staging directory of a sandbox: its root, its mounts, its run directory
//	boxes/ID        files that a sandbox's keeper needs and leaves, by the sandbox's id, which is also the handle's
//	etc-…, init-…   shared by sandboxes, named after their content; removed when no box's record names them any more
//	site            the id of the directory, which is the launcher's site
//
// Code that does not need the Launcher lies in packages of its own: boxes (the boxes on the disk, and the site that
// they belong to), bundle (the runtime's configuration and root), command (calls of runsc, and its processes), groups
// (control groups), outside (the look from the host), follow (attachments) and keeper. This package decides in which
// order they are used. It also holds everything that exists only once: slots, images, lines, turns.
//
// From the sandbox's start to its end, the keeper owns the files of a box. Before and after that, the launcher owns
// them. The launcher could find everything that it has in memory again on the disk, with two exceptions: the line to a
// keeper from the start of the sandbox, and the data of sandboxes that were made ahead.
//
// What can fail: Create undoes its work. A box that was not finished has a name that List does not show, and the next
// New removes it. Start fails with runsc's own words. If a keeper is killed, the end of its sandbox is unknown: the
// launcher kills the sandbox when it finds it, and its exit is Unknown. A sandbox that cannot be removed is found again
// by List.
package gvisor

// Name is the launcher's name in handles.
const Name = "gvisor"
