// Package mounts brings directories of untrusted users into sandboxes by handle, so that no path is ever looked up
// twice and nothing that moves on the disk can change what a child sees (I4).
//
// The life of one mount:
//
//	bases, _ := mounts.OpenBases([]string{"/srv/outbox"})      // once: the operator's directories, kept open
//	_ = bases.Withhold(mounts.Withheld{Path: state, What: "our state"}) // and a path that no child may see, under any name
//	pin, err := bases.PinAs(source, owner)                     // the directory or file, found without a link, with a user's rights
//	ids, _ := maps.Get(pin.Owner(), mounts.Identity{UID: 2000000001, GID: 2000000001})
//	tree, err := pin.Clone(mounts.CloneOptions{IDMap: ids})    // a mount of it that lies nowhere yet
//	slot, err := slots.Acquire()                               // a host-owned staging directory
//	view, err := slot.ViewDir(0)                               // what the engine binds into the sandbox
//	err = slot.Place(tree, 0, "project/work")                  // the mount appears below the view
//	err = slot.Free()                                          // everything is unmounted, the skeleton removed
//
// It promises:
//
//   - Pin follows no link, magic or not, leaves its base by no way, enters no other mount, and opens nothing: a FIFO or
//     a device is recognised without touching it.
//   - Pin refuses a source that is, holds or lies in a withheld place, also where a bind mount gives that a second name: it
//     compares positions in the file system, not the paths that lead there.
//   - Clone carries exactly one mount. Mounts below the source, present or later ones, stay outside.
//   - PinAs passes no directory that its user may not pass, whatever user the watcher runs as.
//   - With an id map two users and two groups are exchanged and every other id stays as it is. An id that is exchanged for
//     itself stays too, so a map can be of a user alone.
//   - With a map for reading (IDMaps.Reading) no socket in the mount can be connected to, and no FIFO written.
//   - Place creates directories only in the slot, which belongs to the host, never in a user's tree (I6).
//   - Clear and Free never descend into a mount: while something refuses to be unmounted, nothing below it is touched.
//
// It cannot promise nosuid on the host: it holds in the sandbox only. A child may set the set-user-id bit of its own file, which on
// the host is a file of the workspace's owner, perhaps root. The launcher's system call filter has to forbid that.
//
// How an engine binds a view: recursively, with propagation rslave, and read-only without recursion (an engine that knows
// the difference must be told). Then a mount arrives whether it is placed before the sandbox starts or after, and its
// unmounting arrives too.
//
// A runtime that knows no read-only bind without recursion binds a frame: the view is a mount of its own (Frame), which is
// made read-only (Seal) when everything is placed in it and before the runtime copies it.
//
// One case differs. A mount at "." covers the view, so an engine that binds the view afterwards finds the mount itself:
// it must bind it with the mount's own mode, for binding it read-only would make a workspace read-only (and takes nosuid
// and nodev off a context, which a sandbox without new privileges does not miss); its unmounting does not arrive. Placed
// after the sandbox has started, a mount at "." is like any other.
//
// All of it needs Linux 5.12 and, except for Bases and Pin, the right to mount. Elsewhere everything returns ErrNeedsLinux.
package mounts
