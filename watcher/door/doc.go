// Package door has the model gateway open a door for each run whose profile has routes, and close it again. A door is a resource of
// a run (package run):
//
//	Acquire   the gateway opens the door, which serves no process yet; its socket is among those of the Spec
//	Attested  it serves the processes of the sandbox: those in the control group that the host saw, or, where the host saw none,
//	          whatever reaches the socket, which lies in a directory that is closed to the host's users
//	End       it is closed: nothing is sent for the run any more. The ledger says what the run has spent
//	Release   the same, for a sandbox that is gone without an end of its run
//
// A door has the id of its sandbox. It lasts as long as the gateway, which outlives the watcher, and closes by itself when the run's
// time is over: a door whose watcher is gone is open for no longer than its sandbox may live.
//
// # What can fail
//
// The gateway is away, or takes calls and does not answer: the run waits before its sandbox is made, and a cancel waits for nothing;
// at its end it is answered all the same, after a few seconds at most, or one where the gateway is known not to answer, and the answer
// says that it is not known what was spent. The door is closed behind the answer then, as soon as the gateway can be had. A run without a
// door waits for no gateway.
//
// The gateway has no such route, also when it was told them once more: the run is not launched. It has lost the door before the
// agent's word: another sandbox is made. Another program answers in its place: that counts as being away.
package door
