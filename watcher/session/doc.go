// Package session keeps what agents need to go on with a conversation in another sandbox: of each subagent of an outbox its last
// session. A session is a resource of a run (package run):
//
//	Acquire   the session that the request names is put among the files of the sandbox
//	Take      the agent's adapter says a bundle in parts, on standard output; they are written to a file of the sandbox's as they come
//	End       the last whole bundle takes the place of the subagent's session, by one rename
//	Release   what is left of the sandbox's files goes
//
// # What is kept, and where
//
// A child writes these bytes, and a hostile one writes what it likes. The host never looks into them: it bounds, stores and counts them,
// and hands them back to the same subagent of the same outbox with the same agent, as a read-only file that is opened in the sandbox with
// the child's own rights. They lie in the state directory, which is closed to other users, and not in a workspace.
//
//	sessions/<name>.session        a line about the session, and the bundle; the name is a hash of the outbox's id, and one of it and the subagent's
//	sessions/incoming/<sandbox>.*  what a running sandbox has said so far
//
// A watcher that dies leaves the old session or the new one, and never half: a bundle without its last part counts for nothing, and the
// rename comes when it is on the disk. The next watcher goes on with the parts where the launcher's log goes on.
//
// The bounds: a bundle is as large as package agent says, a run says so many of them, and all sessions together are Bounds. The oldest
// go first, of the outbox that has the most.
package session
