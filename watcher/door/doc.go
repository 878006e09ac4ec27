// Package door has the model gateway open a door for each run whose profile has routes, and close it again. A door is a
// resource of a run (package run):
//
//	Acquire   the gateway opens the door, which serves no process yet; its socket is added to the sockets of the Spec
//	Attested  the door serves the processes of the sandbox: the processes in the control group that the host saw. If the
//	          host saw none, it serves every process that reaches the socket, which lies in a directory that is closed
//	          to the host's users
//	End       the door is closed: nothing is sent for the run any more. The ledger says how much the run has spent
//	Release   the same, for a sandbox that is gone without an end of its run
//
// A door has the id of its sandbox. It lasts as long as the gateway, which outlives the watcher. It closes by itself
// when the run's time is over, so a door whose watcher is gone is open for no longer than its sandbox may live.
//
// # What can fail
//
// The gateway is away, or takes calls and does not answer. Before its sandbox is made, the run waits for the gateway; a
// cancel takes effect at once. At its end, the run is answered all the same: after a few seconds at most, or after one
// second if the gateway is known not to answer. The answer then says that the spending is not known, and the door is
// closed after the answer, as soon as the gateway can be reached. A run without a door waits for no gateway.
//
// The gateway has no such route, even after it was told its routes once more: the run is not launched.
//
// The gateway has lost the door before the agent's word: another sandbox is made.
//
// Another program answers in the gateway's place: that counts as a gateway that is away.
package door
