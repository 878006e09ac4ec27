// Package gateway speaks to the API of a model for a child that has no network.
//
// # The way of an exchange
//
// A run whose profile names routes gets a door: one unix socket of its own, which is its only way out.
//
//	agent ── 127.0.0.1:PORT ── init ── the run's socket ──►  door      which run this is; who may connect
//	                                                         head      one request, parsed strictly, within bounds
//	                                                         route     the operator's: upstream, methods, paths, models
//	                                                         budget    an upper bound of its cost is reserved, and written
//	                                                         credential  the client's are dropped, the route's is set
//	                                                         dial      the address is judged after it was resolved; TLS
//	          answer, event by event, unbuffered   ◄──────── relay     usage is read as it passes
//	                                                         budget    settled by that usage; without one the reservation counts
//
// # Which package does what
//
//   - internal/gateway/route: what the operator says of a route, and the pure decision on a parsed request: which upstream
//     request it becomes, or which refusal, in the form of the route's API. It does no input and no output.
//   - internal/gateway/wire: bytes to a request's head, and hop-by-hop rules. It knows no route.
//   - internal/gateway/credential: what header a route gets, from a file, a command or a store; it alone holds secrets, and a
//     secret has no String.
//   - internal/gateway/dial: which addresses may be dialled, and TLS.
//   - internal/gateway/usage: reads what an answer says of its tokens while it passes, plain or as server-sent events.
//   - internal/gateway/budget: limits over scopes (run, subagent, parent's tree, outbox and day), reservations, and the
//     ledger in which they last.
//   - internal/gateway/prices: what a request may cost at most, and what an exchange did cost.
//   - internal/gateway/cache: files of registries that are kept on the disk, verified at each reading.
//   - internal/gateway/registry: what the pages of registries say of their files.
//   - internal/gateway/setup: routes and prices out of one text of the operator's; it opens nothing, so the watcher's
//     configuration reads them too.
//   - internal/gateway/upstreams: the credential sources and transports of those routes.
//   - internal/gateway/control: the socket over which a watcher opens and closes doors.
//   - internal/gateway/process: a gateway process as a watcher has it: found, started, told its routes, looked after.
//   - this package joins them: doors, exchanges, what is told of them.
//
// The process (cmd/model-gateway) has no rights on engine, journal or outboxes. A watcher opens doors before it creates
// a sandbox, takes them up again after a restart of its own, and closes them after the sandbox is removed. The gateway
// outlives the watcher; a door without an owner lasts as long as its deadline, which the watcher gave it. Doors are written
// down, so that a gateway that was killed has them again when it is started, with their sockets at the same places.
//
// There is a file for each of these steps, and one for each system where the peer of a socket is told otherwise, so there are more
// of them than elsewhere.
//
// # What can fail
//
//   - The child: floods, stalls, smuggles. Each bound answers with a 4xx in the form of the route's API, counts, and is
//     told once for each door. A request that is not understood to the last byte closes the connection.
//   - The upstream: lies about length, never ends, redirects, claims usage that is absurd. Nothing is retried here; a
//     redirect is an error of the upstream; usage above the reservation is believed, usage below zero or absent is not.
//   - The gateway is killed between reservation and settlement: the ledger has the reservation, and it counts as spent.
//   - The clock jumps: a day's budget knows days by the clock, and a clock that goes back opens no day anew.
//   - Two gateways of one state directory: the ledger is locked; the second one ends, and names the process that holds it.
package gateway
