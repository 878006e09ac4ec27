// Package pool makes sandboxes ahead of runs and keeps them ready: created, started, attested while empty, and in their
// hold. A Pool stands in front of a launcher and is a launcher itself:
//
//	p := pool.New(launcher, launcher, pool.Options{Size: pool.Auto, Most: 8})
//	go p.Run(ctx)                          // fills it, one at a time, while nothing is launched
//	id := p.Claim("outbox", spec)          // "" if none is ready: then the run makes its own
//	h, err := p.Create(ctx, id, spec)      // brings the run into the claimed sandbox, or makes a new one
//	err = p.Start(ctx, h)                  // does nothing for a claimed sandbox, which was started before
//	a, err := p.Open(ctx, h, "")           // the attachment from the sandbox's start, with all output
//	seen, err := p.Attest(ctx, h)          // looks again, now with the run in it
//
// A shelf keeps the sandboxes of one outbox and one Shape: a profile with the path prefixes where mounts arrive. A
// sandbox serves one run, or none, and is never put back. The journal binds it to its run before anything of the run
// comes near it. A claim exists only in memory. A sandbox that was never bound belongs to no run, so the next start of
// the watcher removes it.
//
// How many sandboxes a shelf wants: a fixed number, or with Auto none before the first request, and then as many as
// were asked for in the last minute, but at least one. A shelf that no request asked for during Options.Idle is
// emptied. All shelves together hold at most Options.Most sandboxes. The pool makes none while less than a quarter of
// the machine's memory is free, and gives its sandboxes up while less than an eighth is free. If there is not room for
// all, the outbox with the fewest sandboxes gets the next, and an outbox with more than its share gives way. The same
// rule shares out the shelves themselves; there are at most 64.
//
// # What can fail
//
// If a sandbox ends in its hold, the pool drops it, and the shelf waits before it makes another, each time longer. The
// shelf waits in the same way if the launcher cannot make a sandbox; Shelves tells the reason. If a run cannot be
// brought into its claimed sandbox, Create removes the sandbox and makes a new one with the same id, as it would
// without a pool. A fault of the request itself is refused, as always. Close removes the ready sandboxes. A sandbox
// that cannot be removed carries the installation's id, and the next start finds it.
package pool
