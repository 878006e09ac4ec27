// Package manager is the parent's side of the hatch. An agent in a container uses it to have tasks done by children
// that the host starts for it. All it needs is the outbox, the one directory that both sides share.
//
//	m, err := manager.New("/outbox", manager.Options{})
//	run, err := m.Spawn(ctx, manager.SpawnOptions{Task: "go test ./...", Timeout: 5 * time.Minute})
//	result, err := run.Wait(ctx)
//	// hand the result on, and then
//	err = run.Acknowledge(result)
//
// # Promises
//
// A request gets a result or an error, never silence. Wait ends when the response is there, when ctx ends, when no
// watcher has served the outbox for Options.Patience, and when a child that is known to run is long past its time. Wait
// waits for a queued run as long as a watcher serves. WaitWithUpdates also reports the reason for each delay; it
// reports a watcher's death within three heartbeats, and its return.
//
// A result is delivered before it is acknowledged. Wait removes nothing. Only Acknowledge removes the run's files, and
// it keeps a copy of the result for a day; Taken reads that copy. A caller that dies in between finds the result again.
//
// Each input to an agent has a number of its own, even if several clients send. Send returns when the agent has the
// input, or returns why the agent does not have it. The input lies in the outbox until the run's request goes.
//
// Old files are not taken for new. A response, a status or an event counts only with the request_id of this run. An
// answer file counts only in the same workspace directory, and only if it did not already lie there unchanged before
// the run.
//
// A client that gives up leaves nothing behind. With CancelOnDone, or after Withdraw, no file of the run stays in the
// outbox, even if no watcher is there to remove it; only the workspace stays.
//
// Everything that is read is hostile, because the outbox is shared and the workspace was the child's. Each file must be
// a regular file with one name. It is opened beneath its directory without following links or blocking, and read up to
// a size limit (invariant I5). Answer, StdoutTail and StderrTail hold the child's text as data: a caller that shows it
// to a person or a model must not pass it off as words of the host.
//
// The request file is a run's only record on this side. After a restart of the caller, List and Attach find the run
// again, and any process can do everything with it.
//
// A workspace may begin with files: SpawnOptions.Fill puts them there before the child is asked for. Package
// manager/patch fills it with a copy of a directory, and takes the child's work back as a patch.
//
// # Speed
//
// On Linux inotify reports at once that a file has changed. A poll stands behind it, because inotify is blind on mounts
// that a virtual machine or gVisor shares with its host. Elsewhere there is only the poll.
package manager
