// Package images fetches root filesystems for sandboxes, on machines on which no container engine runs.
//
//	ref, err := images.Parse("alpine@sha256:…")              // or dir:/abs, oci:/abs[:tag|@digest], archive:/abs.tar
//	cache, err := images.Open(ctx, images.Options{Dir: dir}) // dir: mode 0700, of this user; processes may share it
//	image, err := cache.Get(ctx, ref)                        // fetches and unpacks the image once, then finds it
//	defer image.Close()                                      // afterwards the cache may remove image.Dir
//	freed, err := cache.Collect(ctx, 10<<30)                 // removes the longest unused first, images in use never
//
// A tag does not say which image it leads to. Get refuses a tag unless the operator allowed it with Ref.Pulling. Then
// Get asks the registry each time, and Image.Reference names the image by its digest.
//
// The package promises, for every answer of a registry and every content of an archive:
//
//   - Content that does not match its digest never becomes an image. The cache compares the manifest, the configuration
//     and each layer, packed and unpacked, before one rename gives the tree its name. Until then the tree is a
//     temporary directory. If its maker dies, the next Open or Collect removes it.
//   - Nothing outside the tree is read, written, linked or changed. Names with ".." are refused, links are resolved
//     within the tree, and every step is taken beneath a handle (os.Root), which would refuse to leave the tree.
//   - Only directories, regular files and links are made. Devices, FIFOs and sockets are left out and counted. Set-id
//     bits, extended attributes and owners are dropped, and so is the right of group and others to write. Everything
//     belongs to the user who unpacks. Other bits stay, so a sandbox that does not run as root cannot read files that
//     only the image's root may read. The owner may always read files and enter directories; otherwise they could not
//     be removed.
//   - There are bounds for bytes, files, depth, names, documents, window sizes and the work of unpacking. There are
//     also bounds for how long a registry may send next to nothing, and for the time until the image is ready.
//     Unpacking stops before the disk's floor (Options.Floor). Zeros become holes on the disk. Files keep their times;
//     symbolic links do not.
//   - The cache opens a path of the operator once, and follows no link. It refuses the path if untrusted users could
//     change where it leads (package trust), or if Options.Apart refuses it. Image.Root is the directory that was
//     opened; Image.Dir may lead to something else later.
//   - The cache speaks plain http only with a registry on this machine, never with a server to which that registry
//     sends us.
//   - A lock on an open file holds an image, so no crash holds it for ever. Image.Pin is that file: a process that
//     inherits it holds the image for as long as the process lives. The cache removes a directory only after locking it
//     exclusively.
//
// Concurrent Gets of one reference share one download, which ends early when the last of them has given up. Two
// processes may download the same image at once; the second one finds at the end that it was not needed.
//
// The credentials are the operator's: the configuration of docker or podman, with the helpers that it names. They go to
// the registry and to the https token server that the registry names, never along a redirect.
package images
