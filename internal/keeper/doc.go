// Package keeper is what stands beside a sandbox that has no engine: one small process for each, which outlives the watcher.
//
// A box is a directory of the host's own:
//
//	order.json   what the keeper is to start; written by the launcher, whole
//	lock         held by the keeper as long as it lives
//	started      made before the runtime is executed; behind it nothing is started again
//	pid          the sentry's, written by the runtime
//	log.N        the output, bounded: at most two of these files, frame by frame
//	socket       where watchers attach
//	end.json     how the sandbox ended; written when its last process is gone
//
// The keeper is the parent of all that the runtime leaves behind, so it sees how the sentry ended, and nobody has to ask.
// Everything that the agent prints goes into the log, and from there to whoever is attached. An attached watcher that does
// not read stops the agent, when the log is full of what it has not had; a log that nobody reads drops its oldest half.
//
// What can be lost: with a keeper that is killed, how its sandbox ended. Then the box has started and no end, and nobody
// holds its lock; Box.State says Lost once the sandbox is dead.
package keeper
