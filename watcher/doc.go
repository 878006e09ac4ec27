// Package watcher is the host's side of the hatch: it turns request files into sandboxes and sandboxes into response
// files, and answers for everything in between.
//
// # Who owns what
//
//	outbox (one goroutine each)          schedule (one goroutine)          run (one goroutine each)
//	───────────────────────────          ─────────────────────────         ────────────────────────
//	inotify, listing ──► look            submit: busy, full,               create ► start ► follow ► end
//	read, decode, compile, journal ────► queue, fairness ────────────────► respond ► remove
//	superseded, sentinel, gone ────────► route to the run ───────────────► the first cause wins
//	                                     ended ◄────────────────────────── done
//
// An outbox reads its own files and compiles them, so a flood in one outbox delays only its own parent. The schedule
// owns the queue, the slots and the rule that a subagent runs once at a time; it does no input or output, so it never
// waits. A run owns its sandbox from create to remove. State moves only through the journal, which guards each move.
//
// A run also holds its workspace, from before the sandbox is made until after the answer. While the agent runs, one
// goroutine of the run looks at how much is in it; when the last process is gone, the run itself looks at what is left. One
// goroutine, disks, asks for the free space below all workspaces, and ends runs that take the last of it.
//
// # What can fail
//
// Reading fails: the request is refused, with a response (invariant I11). The journal fails: nothing is started, since
// an effect without a record could be doubled; the outbox is looked at again. The launcher fails: the run ends as
// launch_failed and whatever it left carries the run's key and is removed. The engine does not answer: every call is made
// again, ever more slowly, until it does or the run must end; nothing is said of a sandbox that nobody could look at, and
// what may have run is not started again: such a run is lost. A call before the release does not return: it is left behind, the
// run is answered, since it never gets the word, and the sandbox is removed when the call does return. The watcher dies: the next one finds each unfinished run in
// the journal and each sandbox in the launcher's list, and takes the same road from there. A sandbox that lives is adopted.
//
// A workspace cannot be looked at: nothing is started in it, and what runs in it is ended. It is replaced between our look
// and the launcher's: the same, since the launcher says which directory it has mounted.
//
// Nothing here trusts an event: an event names a file, and the file is looked at. A listing stands behind the events.
package watcher
