// Package mounts brings directories of untrusted users into sandboxes by handle. So no path is ever looked up twice,
// and nothing that moves on the disk can change what a child sees (I4).
//
// The life of one mount:
//
//	bases, _ := mounts.OpenBases([]string{"/srv/outbox"})      // once: the operator's directories, kept open
//	_ = bases.Withhold(mounts.Withheld{Path: state, What: "our state"}) // a path that no child may see under any name
//	pin, err := bases.PinAs(source, owner)                     // find the source: no links, a user's rights
//	ids, _ := maps.Get(pin.Owner(), mounts.Identity{UID: 2000000001, GID: 2000000001})
//	tree, err := pin.Clone(mounts.CloneOptions{IDMap: ids})    // mount it, attached nowhere yet
//	slot, err := slots.Acquire()                               // a host-owned staging directory
//	view, err := slot.ViewDir(0)                               // the engine binds this into the sandbox
//	err = slot.Place(tree, 0, "project/work")                  // the mount appears below the view
//	err = slot.Free()                                          // unmount everything, remove the skeleton
//
// It promises:
//
//   - Pin follows no link, magic or not, cannot leave its base, enters no other mount, and opens nothing: it recognises
//     a FIFO or a device without touching it.
//   - Pin refuses a source that is, holds or lies in a withheld place, even if a bind mount gives that place a second
//     name: it compares positions in the file system, not paths.
//   - Clone carries exactly one mount. Mounts below the source stay outside, whether they exist already or come later.
//   - PinAs passes no directory that its user may not pass, whatever user the watcher runs as.
//   - An id map exchanges two users and two groups; every other id stays as it is. If both ids of a pair are equal,
//     nothing is exchanged, so a map can exchange users alone.
//   - With a map for reading (IDMaps.Reading), nobody can connect to a socket in the mount or write to a FIFO in it.
//   - Place creates directories only in the slot, which belongs to the host, never in a user's tree (I6).
//   - Clear and Free never descend into a mount: if a mount cannot be unmounted, nothing below it is touched.
//
// It cannot promise nosuid on the host: nosuid holds in the sandbox only. A child may set the set-user-id bit on its
// own file. On the host this file belongs to the workspace's owner, perhaps root. The launcher's system call filter has
// to forbid that.
//
// How an engine binds a view: recursively, with propagation rslave, and read-only but not recursively read-only (an
// engine that knows both kinds must be told). Then every mount arrives in the sandbox, whether it is placed before the
// sandbox starts or after, and every unmount arrives too.
//
// Some runtimes cannot make a bind read-only without making everything below it read-only. For them the view becomes a
// mount of its own (Frame). It is made read-only (Seal) after everything is placed in it and before the runtime copies
// it.
//
// One case differs. A mount at "." covers the view, so an engine that binds the view afterwards finds this mount
// itself. The engine must then bind it with the mount's own mode, because a read-only bind would make a workspace
// read-only. (Such a bind also takes nosuid and nodev off a context, but a sandbox without new privileges does not need
// them.) When this mount is unmounted, the sandbox keeps it. If a mount at "." is placed after the sandbox has started,
// it is like any other.
//
// Everything here needs Linux 5.12 and, except for Bases and Pin, the right to mount. On other systems everything
// returns ErrNeedsLinux.
package mounts
