// Package cache keeps files of a package registry on the disk, so that several children that need the same file fetch
// it once.
//
//	c, err := cache.Open(dir, most)
//	key := cache.Key{Address: url, Digest: digest}      // the registry's digest; none for a file that never changes
//	held := c.Find(ctx, key)                            // verified, or nil
//	over, mine := c.Turn(ctx, key)                      // one child fetches, the others wait for it
//	draft, err := c.Begin(key, mediaType)               // the bytes are written beside their way to the child
//	err = draft.Keep(); draft.Drop()
//
// What it promises:
//
//   - Find returns a file only as it was kept. It computes the digest of a file that it has not read yet, or that has
//     changed, before it returns the file. It removes a damaged file and does not return it.
//   - Keep keeps a file only if it has the registry's digest. If the registry tells no digest, Keep computes one from
//     the first download.
//   - The directory, drafts included, holds no more than its bound. The least recently used file goes first. A file
//     that does not fit, or that a full disk does not take, still reaches the child, but is not kept.
//   - A process that dies leaves whole files, and drafts that the next process removes.
//   - It knows nothing of routes and credentials: the caller gives each of them a directory of its own.
package cache
