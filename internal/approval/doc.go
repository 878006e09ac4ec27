// Package approval says what becomes of an agent's question whether it may call a tool.
//
//	the agent asks ──► Canonical ──► Policy.Judge ──► allowed or denied at once
//	                                      │
//	                                      └─────────► forwarded: an Approval waits for a Decision, and is denied when it expires
//
// An Approval is bound to the digest of the tool, its canonical arguments, the version of the policy and the run. It is decided once.
// A decision names the digest that its sender has seen, so approving one call never lets another one run. The side that hands the
// decision to the agent holds the arguments in their canonical form, computes the digest again and passes on exactly these bytes.
//
// Everything here is pure: times are given, nothing is read or written. An approval is no wall. A child that does not ask its agent's
// question, or does not wait for the answer, can do all that its sandbox lets it do.
package approval
