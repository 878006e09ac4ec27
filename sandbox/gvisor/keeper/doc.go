// Package keeper implements the keeper, which takes the place of an engine: one small process beside each sandbox,
// which outlives the watcher.
//
// A box is a directory of the host's own:
//
//	order.json   the keeper's order; written by the launcher, complete
//	lock         held by the keeper as long as it lives, and by the launcher while it removes the box
//	started      made before the runtime is executed; from then on nothing is started again. If a power cut takes this
//	             file, the sandbox may be started again, and then its init holds again
//	pid          the sentry's, written by the runtime
//	log.N        the output, bounded: at most two of these files, frame by frame
//	socket       where watchers attach
//	end.json     how the sandbox ended
//	keeper.log   the keeper's own messages
//
// The keeper is the parent of every process that the runtime leaves behind, so it sees how the sentry ended, without
// asking. Then it kills the remaining processes. When the last process is gone and all output is in the log, it writes
// the end down, and only then tells a watcher. The end has a reserved place on the disk: a full disk loses output, but
// never an end. The end says how much output there was.
//
// Everything that the agent prints goes into the log, and from there to each attached watcher. If an attached watcher
// does not read, the agent has to wait as soon as the log is full of unread output. A log without a reader drops its
// oldest half.
//
// The sandbox's init holds. The watcher that started the keeper releases it, through the keeper. If this watcher goes
// away without a release, or sends anything else before it, the keeper ends init's input, and init ends. Input from
// other watchers waits until init was given its word.
//
// A sandbox opens no socket of the host's. The keeper holds the sockets that the sandbox may reach. When init asks for
// one, the keeper connects to it as the sandbox's user, and gives init the connection.
//
// A failure before the start is noted leaves a box that was never started. After that every failure is an end. If the
// keeper is killed, two things can be lost: the output in the pipes, and how its sandbox ended. Then the box is started
// and has no end, and no process holds its lock. Box.State reports Lost, and the launcher has to kill the processes
// that are left. Output that was already in the log can still be read there.
package keeper
