// Package gateway speaks to the API of a model for a child that has no network.
//
// # The way of an exchange
//
// A run whose profile names routes gets a door: a unix socket of its own, which is its only way out.
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
//   - internal/gateway/route: reads the operator's routes, and decides on a parsed request: it becomes a request to the
//     upstream, or a refusal in the form of the route's API. It does no input and no output.
//   - internal/gateway/wire: turns bytes into a request's head, and applies the hop-by-hop rules. It knows no route.
//   - internal/gateway/credential: sets the credential's header, from a file, a command or a store. Only this package
//     holds secrets, and a secret has no String.
//   - internal/gateway/dial: decides which addresses may be dialled, and does TLS.
//   - internal/gateway/usage: reads an answer's token counts while the answer passes, plain or as server-sent events.
//   - internal/gateway/budget: limits over scopes (run, subagent, parent's tree, outbox and day), reservations, and the
//     ledger that keeps both across restarts.
//   - internal/gateway/prices: computes the most that a request may cost, and the real cost of an exchange.
//   - internal/gateway/cache: keeps files of registries on the disk, and verifies them at each reading.
//   - internal/gateway/registry: reads addresses and digests of files from the pages of registries.
//   - internal/gateway/setup: reads routes and prices from one text of the operator's. It opens nothing, so the
//     watcher's configuration can use it too.
//   - internal/gateway/upstreams: opens the credential sources and transports of those routes.
//   - internal/gateway/control: the socket over which a watcher opens and closes doors.
//   - internal/gateway/process: finds a gateway process for a watcher, starts it, tells it its routes, and looks after
//     it.
//   - this package joins them: doors, exchanges, and the reports about both.
//
// The process (cmd/model-gateway) has no rights on engine, journal or outboxes. A watcher opens a door before it
// creates the sandbox, finds the door again after a restart of its own, and closes it after the sandbox is removed. The
// gateway outlives the watcher: if no watcher closes a door, it closes at the deadline that the watcher gave it. The
// gateway writes its doors down. After a kill the next start opens them again, with their sockets at the same places.
//
// This package has more files than others: one for each of these steps, and one for each system that has its own way to
// find the process at the other end of a socket.
//
// # What can fail
//
//   - The child floods, stalls or smuggles. Each bound answers with a 4xx in the form of the route's API. The gateway
//     counts each refusal, and logs the first of each kind for each door. If it does not understand a request to the
//     last byte, it closes the connection.
//   - The upstream lies about length, never ends, redirects, or claims absurd usage. The gateway retries nothing, and
//     treats a redirect as an error of the upstream. It believes usage above the reservation. If usage is negative or
//     absent, the reservation counts.
//   - The gateway is killed between reservation and settlement: the reservation is in the ledger, and counts as spent.
//   - The clock jumps: a day's budget goes by the clock's days, but a clock that is set back does not give a day its
//     budget again.
//   - Two gateways use one state directory: the first has locked the ledger. The second ends, and names the process
//     that holds the lock.
package gateway
