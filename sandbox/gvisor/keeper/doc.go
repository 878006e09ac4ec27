// Package keeper is what stands beside a sandbox that has no engine: one small process for each, which outlives the watcher.
//
// A box is a directory of the host's own:
//
//	order.json   what the keeper is to start; written by the launcher, whole
//	lock         held by the keeper as long as it lives, and by the launcher while it removes the box
//	started      made before the runtime is executed; after it nothing is started again, unless a power cut takes it: then init holds again
//	pid          the sentry's, written by the runtime
//	log.N        the output, bounded: at most two of these files, frame by frame
//	socket       where watchers attach
//	end.json     how the sandbox ended
//	keeper.log   what the keeper says of itself
//
// The keeper is the parent of all that the runtime leaves behind, so it sees how the sentry ended, without asking. It
// kills what is left then, and writes the end down when the last process is gone and all output is in the log, and before it tells
// a watcher, into a place that was reserved for it: a disk that is full loses output, and no end. The end says how much there was.
//
// Everything that the agent prints goes into the log, and from there to each watcher that is attached. An attached watcher that does
// not read stops the agent, when the log is full of what it has not had; a log without a reader drops its oldest half.
//
// The sandbox's init holds. The watcher that started the keeper releases it, over the keeper. When that watcher goes without a
// release, or sends anything else before it, the keeper ends init's input, and init ends. Input of other watchers waits until init
// was given its word.
//
// A sandbox opens no socket of the host's. The keeper holds those that it may reach, connects when init asks for it, as the
// sandbox's user, and gives it the connection.
//
// What fails before the start is noted leaves a box that was never started. After that every failure is an end. What can be
// lost: with a keeper that is killed, what was in the pipes, and how its sandbox ended. Then the box has started and no end, and no process holds its lock;
// Box.State says Lost, and what still runs is the launcher's to kill. Output that was in the log is read from there.
package keeper
