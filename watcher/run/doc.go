// Package run is one run's life, from its admission to its answer.
//
//	Submit ► queue ► hold workspace ► bind ► create ► start ► hold ► attest ► release ► follow ► conclude ► remove
//	                                   ▲                        │                │
//	                                   └── ended in its hold ◄──┘                └── lost: attempted again, where its profile says so
//
// Runs carries all runs and has what they share: the Ports to the host (journal, launchers, schedule, notices), the calls that are made
// again, the Removals of sandboxes, the claims on workspaces. A Run is what every goroutine may see of one run. It has a Client, the one
// that asked for it; it knows neither the outbox nor the watcher. Its runner carries it, in one goroutine, and owns its sandbox from
// create to remove; an attendance is one attachment to that sandbox. What may end a run, a cancel, a deadline, the floor of a disk, says so
// through End: the first cause wins. Where a run stands is one value, its Standing: it changes after the journal, and the client's status
// file, the live events and what an operator is shown are views of it.
//
// What a parent says to the run's agent (inputs.go) is read from its files in the order of their numbers and sent to the sandbox's standard
// input by an attendance (feed.go), again with each attachment until the agent's adapter has acknowledged it. Decision 0020 says why.
//
// # What can fail
//
// The journal fails: nothing is started, since an effect without a record could be doubled. The launcher fails: the run ends as
// launch_failed, and what it left carries the sandbox's id and is removed. The launcher does not answer: every call is made again, ever
// more slowly, until it does or the run must end; nothing is said of a sandbox that could not be looked at, and what may have run is not
// started again. A call before the release does not return: it is left behind, the run is answered, since it never gets the word, and
// the sandbox is removed when the call does return. Another site answers: the run is stranded until its own is back.
package run
