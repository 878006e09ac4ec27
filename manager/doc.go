// Package manager is the parent's side of the hatch: an agent in a container uses it to have tasks done by children
// that the host starts for it. All it needs is the outbox, the one directory that both sides share.
//
//	m, err := manager.New("/outbox", manager.Options{})
//	run, err := m.Spawn(ctx, manager.SpawnOptions{Task: "go test ./...", Timeout: 5 * time.Minute})
//	result, err := run.Wait(ctx)
//
// # Promises
//
// A request gets a result or an error, never silence. Wait ends when the response is there, when ctx ends, when the
// watcher's heartbeat stops, and when a child that is known to run is long past its time. It waits for a place in the
// queue as long as somebody serves the outbox.
//
// What is old is not taken for new. A response, a status or an event counts only with the request_id that this run
// was given, so neither a late answer nor a planted one of an earlier run is ever returned.
//
// Everything that is read is hostile, since the outbox is shared and the workspace was the child's. It must be a regular
// file with one name; it is opened beneath its directory without following links or blocking, and read up to a size
// (invariant I5). What a child wrote comes back in Answer, StdoutTail and StderrTail as data: whoever shows it to a
// person or a model must not pass it off as words of the host.
//
// The request file is a run's only record on this side. After a restart of the caller, Attach finds the run again.
//
// # Speed
//
// On Linux inotify says at once when a file changes; a poll stands behind it, because inotify is blind on mounts that
// a virtual machine or gVisor shares with its host. Elsewhere there is only the poll.
package manager
