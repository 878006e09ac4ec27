// Package run carries one run from its admission to its answer.
//
//	Submit ► queue ► hold workspace ► bind ► create ► start ► hold ► attest ► release ► follow ► conclude ► remove
//	                                   ▲                        │                │
//	                                   └── ended in its hold ◄──┘                └── lost: attempted again, where its profile says so
//
// Runs carries all runs and owns the parts they share: the Ports to the host (journal, launchers, schedule, notices),
// the calls that are repeated until they succeed, the Removals of sandboxes, and the claims on workspaces. A Run is one
// run as every goroutine may see it. It has a Client, which stands for the requester; the Run knows neither the outbox
// nor the watcher. Its runner carries it in one goroutine, and owns its sandbox from create to remove. An attendance is
// one attachment to that sandbox. A cancel, a deadline or a full disk ends a run by calling End; the first cause wins.
// Where a run stands is one value, its Standing. It changes after the journal. The client's status file, the live
// events and the operator's view are made from it.
//
// The parent's inputs for the run's agent (inputs.go) are read from the parent's files in the order of their numbers.
// An attendance sends them to the sandbox's standard input (feed.go). Each new attachment sends them again, until the
// agent's adapter has acknowledged them. Decision 0020 says why.
//
// # What can fail
//
// The journal fails: nothing is started, because an effect without a record could be doubled.
//
// The launcher fails: the run ends as launch_failed. Anything the launcher left behind carries the sandbox's id, and is
// removed.
//
// The launcher does not answer: every call is repeated, ever more slowly, until it succeeds or the run must end. Until
// then the watcher says nothing about a sandbox that it could not look at, and does not start again anything that may
// have run.
//
// A call before the release does not return: the watcher leaves the call behind and answers the run, because this run
// never gets the word. When the call does return, the sandbox is removed.
//
// Another site answers: the run is stranded until its own site is back.
package run
