// Package boxes keeps gVisor's sandboxes on the disk. Each sandbox has a box, which is a directory with its record, the
// runtime's configuration, and the files that its keeper needs and leaves.
//
//	b := boxes.In(dir, "gvisor")        // below the launcher's directory
//	err := b.Make()                     // gives it an id of its own, the launcher's site
//	err = b.Put(record, bundle, order)  // one rename: the box exists completely or not at all
//	r, err := b.Read(id)
//	state, err := b.Keeper(id).State()
//	err = b.Remove(id)
//
// The package promises: a name that is not a sandbox's id never becomes part of a path. A missing box is
// sandbox.ErrNotFound only in the directory on which the Boxes were opened. If a different directory lies at this path
// now, nothing is known about the sandbox (sandbox.ErrOtherSite). All does not return boxes that were not finished.
package boxes
