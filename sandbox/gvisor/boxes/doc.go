// Package boxes keeps gVisor's sandboxes on the disk. A box is the directory of one of them: what it is (its record), the
// runtime's configuration, and what its keeper needs and leaves.
//
//	b := boxes.In(dir, "gvisor")        // below the launcher's directory
//	err := b.Make()                     // with an id of its own, the launcher's site
//	err = b.Put(record, bundle, order)  // a box is there by one rename, or not at all
//	r, err := b.Read(id)
//	state, err := b.Keeper(id).State()
//	err = b.Remove(id)
//
// What it promises: a name that is no sandbox's id never becomes part of a path. A box that is not there is
// sandbox.ErrNotFound only in the directory on which the Boxes were opened: where another one lies at its path by now, nothing
// is known of a sandbox (sandbox.ErrOtherSite). A box that was not finished has a name that All does not return.
package boxes
