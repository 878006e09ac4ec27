// Package control is the operator's door to a running watcher: HTTP and JSON on a unix socket in the state directory.
//
// The socket is 0600 in a 0700 directory, and each connection's peer must be the watcher's own user or root: such a peer is
// the operator. The commands, the tests and future views of a watcher all use this one door.
// Paths begin with the version; a field is added, never renamed.
//
//	GET  /metrics              numbers for Prometheus, and
//	GET  /healthz              whether it is alive: package metrics
//	GET  /v1/status            the watcher, its outboxes and its launchers
//	GET  /v1/runs              newest first; all=1 shows ended ones too, outbox=NAME only one outbox
//	GET  /v1/runs/REF          one run; REF is a key or its beginning, a subagent, or outbox/subagent
//	GET  /v1/output/REF        the child's output as JSON lines; follow=1 stays until it ends
//	GET  /v1/events/REF        what happened in a run, as JSON lines; since=N begins after event N, follow=1 stays until it ends
//	POST /v1/reload            has the configuration read again; the reply has a number
//	GET  /v1/reload/NUMBER     what came of it
//	POST /v1/cancel/REF        ends a run as its client's sentinel would
package control
