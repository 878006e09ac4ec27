// Package tree looks at the files that a hostile child writes into a directory. It finds out how much they take and
// which of them should not stay.
//
//	dir, _ := tree.Reopen(pin.File())                     // the same directory, under any name
//	space, _ := dir.Space()                             // what is free on its file system
//	usage, _ := dir.Measure(ctx, tree.Bounds{…})        // how much is in it
//	found, _ := dir.Inspect(ctx, tree.Bounds{…})        // set-id bits are cleared; what leads out is counted and named
//
// One walker serves Measure, Inspect and Artifacts. A Dir has no state but its handle, so several walks may run at
// once. A walk may wait in the kernel for as long as the file system does not answer. Then no context and no bound ends
// it, and a caller that cannot wait must run it on a goroutine of its own and abandon it there.
//
// The package promises the following, whatever is renamed, replaced or made below the directory during a walk:
//
//   - It goes down by handle only: it opens each directory below its parent's handle, by a single name, and never
//     follows a link or enters another mount. It opens nothing outside, and changes nothing outside.
//   - Measure and Inspect open nothing but directories; they look at a FIFO or a device but never touch it. Artifacts
//     and CopyTo also read regular files.
//   - It ends. Every name counts as one entry of the bounds, even if it was seen before, and there are bounds of depth,
//     of elapsed time and of processor time.
//   - Each name costs the same, however deep it lies. A path is built only if it may be shown, and at most 512 bytes of
//     it.
//   - It takes at most 8 MiB of memory: for 32 open directories, the names of 2048 levels, 65,536 files with several
//     names, and 1,024 such files with set-id bits.
//
// Some things can fail: a directory may be closed to us, or somebody may move it while the walk is deep below it. Seen
// reports what the walk missed; that is no error. An error means that the directory itself cannot be read.
//
// Some things it cannot promise: a child that moves its files at the right moments can keep them out of a walk's sight,
// and no walk sees a file without a name. Only the free space bounds such a child, and that is why Space is here.
package tree
