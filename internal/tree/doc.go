// Package tree looks at what a hostile child writes into a directory: how much it is, and what of it should not stay.
//
//	dir, _ := tree.Hold(pin.File())                     // the very directory, however it is called by now
//	space, _ := dir.Space()                             // what is free on its file system
//	usage, _ := dir.Measure(ctx, tree.Bounds{…})        // how much is in it
//	found, _ := dir.Inspect(ctx, tree.Bounds{…})        // set-id bits are cleared; what leads out is counted and named
//
// One walker serves both. Nobody but the caller's goroutine walks, one walk at a time for each Dir or many: a Dir has no
// state but its handle.
//
// What it promises, whatever is renamed, replaced or made below the directory while it is walked:
//
//   - It goes down by handle only: each directory is opened beneath the one that holds it, by one name, without following
//     a link and without entering another mount. Nothing outside is opened, and nothing outside is changed.
//   - Nothing but directories is opened. A FIFO or a device is looked at, never touched.
//   - It ends: every name costs one entry of the bounds, seen before or not, and there are bounds of time and depth.
//   - It holds at most 32 directories open and remembers at most 2048 levels, and 65,536 files with several names.
//
// What can fail: a directory may be closed to us, or may have been moved while we were deep below it. What was not
// seen is told in Seen, and is no error. An error means that the directory itself cannot be read.
//
// What it cannot promise: a child that moves its files about at the right moments can keep them out of a walk's sight, and
// a file without a name is in nobody's sight. What holds such a child is the free space, which is why Space is here.
package tree
