// Package pool keeps sandboxes that were made ahead of runs: created, started, attested while they were empty, and in their hold. It
// stands before a launcher and is one itself:
//
//	p := pool.New(launcher, launcher, pool.Options{Size: pool.Auto, Most: 8})
//	go p.Run(ctx)                          // fills it, one at a time, while nothing is launched
//	id := p.Claim("outbox", spec)          // "" where none is ready: the run makes one, as ever
//	h, err := p.Create(ctx, id, spec)      // brings the run into a claimed sandbox, or makes one
//	err = p.Start(ctx, h)                  // nothing is left to do for a claimed one
//	a, err := p.Open(ctx, h, "")           // the attachment that was there from its first byte on
//	seen, err := p.Attest(ctx, h)          // looked at again, with the run in it
//
// A Shelf has the sandboxes of one outbox and one Shape: a profile with the path prefixes at which mounts arrive. A sandbox is used
// for one run, or for none, and is never put back. The journal binds it to its run before anything of the run comes near it; a claim is
// in memory alone, and a sandbox that nobody has bound belongs to no run, so that the next start of the watcher removes it.
//
// How many there are: a number, or with Auto none before the first request, and then as many as were asked for in the last minute, at least
// one. A shelf that no request has asked for Options.Idle long is emptied. All of them together are Options.Most at most, and as many as
// leave a quarter of the machine's memory free; below an eighth they are given up. Where there is not room for all, the outbox that
// has fewest is next, and one that has more than its share gives way. So it is with the shelves themselves, of which there are 64 at most.
//
// # What can fail
//
// A sandbox that ends in its hold is dropped, and the shelf waits before it makes another one, ever longer. A launcher that makes none
// is tried again in the same way; Shelves says what is wrong. A claimed sandbox into which the run cannot be brought is removed, and
// Create makes another one of the same id, as it would have without a pool. What the request itself has wrong is refused, as ever.
// Close removes what is ready. What cannot be removed carries the installation's id, and is found at the next start.
package pool
