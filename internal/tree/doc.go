// Package tree looks at what a hostile child writes into a directory: how much it is, and what of it should not stay.
//
//	dir, _ := tree.Reopen(pin.File())                     // the same directory, under any name
//	space, _ := dir.Space()                             // what is free on its file system
//	usage, _ := dir.Measure(ctx, tree.Bounds{…})        // how much is in it
//	found, _ := dir.Inspect(ctx, tree.Bounds{…})        // set-id bits are cleared; what leads out is counted and named
//
// One walker serves both. A Dir has no state but its handle, so that several walks may be under way at once. A walk may wait
// in the kernel for as long as the file system does not answer: then no context and no bound ends it, and a caller that
// cannot wait has to leave it on a goroutine of its own.
//
// What it promises, whatever is renamed, replaced or made below the directory while it is walked:
//
//   - It goes down by handle only: each directory is opened beneath the one that holds it, by one name, without following
//     a link and without entering another mount. Nothing outside is opened, and nothing outside is changed.
//   - Nothing but directories is opened. A FIFO or a device is looked at, never touched.
//   - It ends: every name costs one entry of the bounds, seen before or not, and there are bounds of depth, of the time that
//     passes and of the processor's time.
//   - Each name costs the same, however deep it lies. A path is built only where it may be shown, and at most 512 bytes of it.
//   - It takes at most 8 MiB: for 32 open directories, the names of 2048 levels, 65,536 files with several names, and 1,024
//     such files with set-id bits.
//
// What can fail: a directory may be closed to us, or may have been moved while we were deep below it. What was not
// seen is told in Seen, and is no error. An error means that the directory itself cannot be read.
//
// What it cannot promise: a child that moves its files about at the right moments can keep them out of a walk's sight, and
// no walk sees a file without a name. The free space bounds such a child, which is why Space is here.
package tree
