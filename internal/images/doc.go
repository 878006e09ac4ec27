// Package images gets root filesystems for sandboxes on a machine on which no engine runs.
//
//	ref, err := images.Parse("alpine@sha256:…")             // or dir:/abs, oci:/abs[:tag|@digest], archive:/abs.tar
//	cache, err := images.Open(images.Options{Dir: dir})     // dir: 0700, of this user, shared with other processes or not
//	image, err := cache.Get(ctx, ref)                       // fetched and unpacked once, then found
//	defer image.Release()                                   // image.Dir may be removed from here on
//	freed, err := cache.Collect(ctx, 10<<30)                // the longest unused go first, those in use never
//
// A tag says nothing of what it leads to. Get refuses it unless the operator asked for it with Ref.Pulling; then the
// registry is asked each time, and Image.Reference says what it was by its digest.
//
// It promises, for every answer of a registry and every content of an archive:
//
//   - Content that does not match its digest never becomes an image: manifest, configuration and each layer are compared, packed
//     and unpacked, before the tree gets its name by one rename. Until then it is a temporary directory that the next
//     Open or Collect removes, if its maker has died.
//   - Nothing outside the tree is read, written, linked or changed. Names with ".." are refused, links are resolved within
//     the tree, and every step is taken beneath a handle (os.Root) which would refuse to leave it.
//   - Only directories, regular files and links are made. Devices, FIFOs and sockets are left out and counted. Set-id bits,
//     extended attributes, owners, and the right of group and others to write are dropped; everything belongs to the user that
//     unpacks. Other bits stay, so what only the image's root may read, a sandbox that is not root cannot read. The owner
//     may always read, and enter directories, because otherwise they could not be removed.
//   - There are bounds for bytes, files, depth, names, documents, window sizes, the work of unpacking, the time in which a
//     registry must bring something, and that in which the image must be there. Unpacking stops before the disk's floor
//     (Options.Floor). Zeros are holes on the disk. Files keep their times, symbolic links do not.
//   - A path of the operator's is opened once, through no link, where only trusted users lead (package trust) and what
//     Options.Apart does not refuse. Image.Root is what was opened; what lies at Image.Dir later may be something else.
//   - Plain http is spoken with a registry on this machine only, and never with a server to which that sends us.
//   - An image is held by a lock on an open file, so no crash holds it for ever. Image.Pin is that file: a process that
//     inherits it holds the image for as long as it lives. Only what could be locked alone is ever removed.
//
// Concurrent Gets of one reference are one download, which ends when the last of them has given up. Two processes may
// download the same image at once; the second finds that it was not needed.
//
// Credentials are the operator's: the configuration of docker or podman, with the helpers that it names. They go to the
// registry and to the https token server that it names, never along a redirect.
package images
