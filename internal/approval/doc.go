// Package approval handles an agent's question: may it call a tool?
//
//	the agent asks ──► Canonical ──► Policy.Judge ──► allowed or denied at once
//	                                      │
//	                                      └─────────► forwarded: an Approval waits for a Decision, and is denied when it expires
//
// An Approval is bound to the digest of the tool, its canonical arguments, the version of the policy and the run. It is
// decided once. A decision names the digest that its sender has seen, so approving one call never lets another call
// run. The side that hands the decision to the agent holds the arguments in their canonical form. It computes the
// digest again and passes on exactly these bytes.
//
// Everything here is pure: the caller gives the times, and nothing is read or written. An approval is no wall. A child
// can keep back its agent's question, or go on without the answer. Then it can still do everything that its sandbox
// lets it do.
package approval
