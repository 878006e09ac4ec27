// Package hungfs mounts a file system that stops answering when a test says so, as a network file system does whose server
// is gone.
//
//	fs := hungfs.Mount(t, dir, "s1", "s2") // two directories, with a few files in each
//	fs.Hang()                              // from now on each call that needs the file system waits in the kernel
//	<-fs.Waits()                           // such a call is there
//	fs.Abort()                             // lets them all fail; the test's end does that too
//
// It is a FUSE server without a library, in a process of its own: a process that waits for a file system which it serves
// itself cannot be killed. It needs the right to mount and /dev/fuse; where one of them is missing, Mount skips the test.
package hungfs
