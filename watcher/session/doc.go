// Package session keeps the data that an agent needs to continue a conversation in another sandbox. For each subagent
// of an outbox it keeps the last session. A session is a resource of a run (package run):
//
//	Acquire   puts the session that the request names among the files of the sandbox
//	Take      gets a bundle in parts, which the agent's adapter writes to standard output; writes them to a file of
//	          the sandbox as they come
//	End       puts the last whole bundle in the place of the subagent's session, by one rename
//	Release   removes the rest of the sandbox's files
//
// # What is kept, and where
//
// A child writes these bytes, and a hostile child writes anything. The host never looks into them: it bounds, stores
// and counts them. It gives them back only to the same subagent of the same outbox with the same agent, as a read-only
// file that is opened in the sandbox with the child's own rights. The bytes lie in the state directory, which is closed
// to other users, and not in a workspace.
//
//	sessions/<name>.session        a line about the session, and the bundle; the name is a hash of the outbox's id,
//	                               and a hash of that id and the subagent's
//	sessions/incoming/<sandbox>.*  bytes of a running sandbox so far
//
// A watcher that dies leaves the old session or the new one, never half of one: a bundle without its last part is
// ignored, and the rename happens after the bundle is on the disk. The next watcher continues with the parts from the
// place where the launcher's log continues.
//
// The bounds: package agent limits the size of a bundle and the number of bundles of a run; Bounds limits all sessions
// together. When there are too many, the oldest go first, from the outbox that has the most.
package session
