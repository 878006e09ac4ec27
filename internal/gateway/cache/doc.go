// Package cache keeps files of a package registry on the disk, so that children that need the same ones do not each fetch them.
//
//	c, err := cache.Open(dir, most)
//	key := cache.Key{Address: url, Digest: digest}      // the digest that the registry says; none where an address never changes
//	held := c.Find(key)                                 // verified, or nil
//	turn := c.Turn(ctx, key, patience)                  // one child fetches, the others wait for it
//	draft := c.Begin(key, mediaType)                    // what is fetched is written beside its way to the child
//	err = draft.Keep(); draft.Drop()
//
// What it promises:
//   - What is found is what was kept: its digest is made again before the first byte is read. A damaged file is removed, and is not found.
//   - Only what has the registry's digest is kept. Where a registry says none, the digest of what came first is.
//   - The directory holds no more than its bound, drafts with it. The least recently used file goes first. A file that
//     does not fit, or that a full disk does not take, still reaches the child, and is not kept.
//   - A process that dies leaves drafts, which the next one removes, and whole files.
//   - It knows nothing of routes and credentials: each has a directory of its own.
package cache
