// Package collect makes workspaces that are copies, and removes workspaces that nothing needs any more. A client makes a workspace for a subagent below workspaces in its
// outbox, and leaves it there when it has taken the answer.
//
//	c := collect.New(ports, outboxes, rule)
//	c.Copy(ctx, outbox, id, spec, room)    // a run is to work in a copy
//	c.Begin(outbox, id, directory, made)   // a run begins in a workspace
//	c.End(outbox, id, bytes)               // and is over
//	go c.Loop(ctx)                         // looks each hour
//	c.Look(ctx, collect.Ask{DryRun: true}) // for an operator
//
// # What it promises
//
//   - A workspace is a directory and not a name (I21): which one it is, and that its client made it, is in the journal from before the
//     run. A directory that took its place is another one, and stays. Where the file system does not note when a directory was made, as
//     NFS and old ext4, that cannot be told: there nothing is removed, and a look says so.
//   - Nothing is removed while it is referenced: by a run that is queued, runs or waits, as its workspace or as context that it reads,
//     by a request or an answer in the outbox, or by a session with which its subagent may go on.
//   - The journal has it first (I9). Then the directory gets another name, under which no request finds it, in the same moment for all;
//     what is begun is gone on with after any end. So nobody finds a half of one.
//   - It is emptied by handle, with the rights of its owner (I18): no link is followed, no mount is entered, and root's or another
//     user's file that the owner could not remove stays.
//   - The work comes in small pieces, at most a twentieth of a core for each outbox (I25). A file system that hangs keeps its own outbox
//     waiting, and nothing else.
//   - A copy is whole or is not there: it gets its name last, and what an end in the middle leaves is removed as above.
//   - A clock that is set does not empty an outbox: what is too old by it has to be so for an hour that no clock measures.
package collect
