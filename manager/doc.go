// Package manager is the parent's side of the hatch: an agent in a container uses it to have tasks done by children
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
// A request gets a result or an error, never silence. Wait ends when the response is there, when ctx ends, when no watcher
// has served the outbox for Options.Patience, and when a child that is known to run is long past its time. A queued run
// is waited for as long as a watcher serves. WaitWithUpdates says meanwhile what it waits for; it tells of a watcher's
// death within three heartbeats, and of its return.
//
// A result is delivered before it is acknowledged. Wait removes nothing; only Acknowledge does, and it keeps a copy for a
// day, which Taken reads. A caller that dies in between finds the result again.
//
// What is sent to an agent has one number, whoever else sends, and Send returns when the agent has it, or says why it has not. It lies in
// the outbox until the run's request goes.
//
// Old files are not taken for new. A response, a status or an event counts only with the request_id that this run
// was given. An answer file counts only in the same workspace directory, and not if it lay there untouched before.
//
// A client that gives up leaves nothing behind. With CancelOnDone, or after Withdraw, no file of the run stays in the
// outbox, whether or not there is a watcher that could remove it; only the workspace does.
//
// Everything that is read is hostile, since the outbox is shared and the workspace was the child's. It must be a regular
// file with one name; it is opened beneath its directory without following links or blocking, and read up to a size
// (invariant I5). What a child wrote comes back in Answer, StdoutTail and StderrTail as data: a caller that shows it to
// a person or a model must not pass it off as words of the host.
//
// The request file is a run's only record on this side. After a restart of the caller, List and Attach find the run again,
// and any process can do everything with it.
//
// A workspace may begin with files: SpawnOptions.Fill puts them there before the child is asked for. Package manager/patch
// fills it with a copy of a directory, and takes the child's work back as a patch.
//
// # Speed
//
// On Linux inotify says at once when a file changes; a poll stands behind it, because inotify is blind on mounts that
// a virtual machine or gVisor shares with its host. Elsewhere there is only the poll.
package manager
