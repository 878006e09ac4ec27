// Package collect makes workspaces that are copies, and removes workspaces that nothing needs any more. A client makes
// a workspace for a subagent below the directory workspaces of its outbox, and leaves it there when it has taken the
// answer.
//
//	c := collect.New(ports, outboxes, rule)
//	c.Copy(ctx, outbox, id, spec, room)    // a run will work in a copy
//	c.Begin(outbox, id, directory, made)   // a run begins in a workspace
//	c.End(outbox, id, bytes)               // and is over
//	go c.Loop(ctx)                         // looks each hour
//	c.Look(ctx, collect.Ask{DryRun: true}) // for an operator
//
// # What it promises
//
//   - A workspace is a directory and not a name (I21). Before the run, the journal records which directory it is and
//     that its client made it. If another directory took its place, that directory stays. Some file systems, like NFS
//     and old ext4, do not record when a directory was made. There the two cannot be told apart, so nothing is
//     removed, and a look says so.
//   - Nothing is removed while something refers to it: a queued, running or waiting run that has it as its workspace
//     or reads it as context, a request or an answer in the outbox, or a session that its subagent may continue.
//   - The journal has the removal first (I9). Then the directory gets another name in one step, and no request finds
//     it under that name. So nobody finds half a workspace. A removal that has begun goes on after a restart.
//   - A workspace is emptied by handle, with the rights of its owner (I18): no link is followed and no mount is
//     entered. A file of root's or of another user, which the owner could not remove, stays.
//   - The work is done in small pieces and takes at most a twentieth of a core for each outbox (I25). A file system
//     that hangs delays its own outbox only.
//   - A copy is whole or does not exist: it gets its name last. If the watcher dies in the middle, the rest is removed
//     as above.
//   - Setting the clock does not empty an outbox: package calendar believes a jump of the clock only after an hour
//     that it measures by CLOCK_BOOTTIME, which nobody can set.
package collect
