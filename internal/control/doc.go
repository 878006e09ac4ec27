// Package control is the operator's door to a running watcher: HTTP and JSON on a unix socket in the state directory.
//
// The socket has mode 0600 in a directory with mode 0700. The peer of each connection must be the watcher's own user or
// root; such a peer is the operator. The commands, the tests and future views of a watcher all use this one door. Paths
// begin with the version. Fields are added, but never renamed.
//
//	GET  /metrics              numbers for Prometheus (package metrics)
//	GET  /healthz              whether the watcher is alive (package metrics)
//	GET  /v1/status            the watcher, its outboxes and its launchers
//	GET  /v1/runs              newest first; all=1 shows ended ones too, outbox=NAME only one outbox
//	GET  /v1/runs/REF          one run; REF is a key or its beginning, a subagent, or outbox/subagent
//	GET  /v1/output/REF        the child's output as JSON lines; follow=1 stays until it ends
//	GET  /v1/events/REF        what happened in a run, as JSON lines; since=N begins after event N, follow=1 stays until it ends
//	POST /v1/reload            reads the configuration again; the reply has a number
//	GET  /v1/reload/NUMBER     the result of the reload with this number
//	POST /v1/cancel/REF        ends a run as a sentinel of its client would
package control
