// Package control lets a watcher or an operator talk to a running gateway: HTTP and JSON on a unix socket in the
// gateway's state directory. Its mode is 0600, so only the gateway's own user and root can use it. Paths begin with the
// API version. Fields may be added, but are never renamed.
//
//	GET    /v1/status          the program, its routes, and the number of doors
//	PUT    /v1/setup           routes and prices, as package setup reads them (application/yaml)
//	POST   /v1/stop            lets answers under way end, and then ends the process, as SIGTERM does
//	POST   /v1/routes/NAME/try asks a route's upstream something that costs nothing, model=MODEL, and tells any trouble
//	GET    /v1/doors           all doors, with their traffic and the spending of their runs
//	POST   /v1/doors           opens a door; if the same door is open already, returns that
//	GET    /v1/doors/ID        a door, with its traffic
//	PATCH  /v1/doors/ID        changes which processes a door serves
//	DELETE /v1/doors/ID        closes a door; after the reply nothing is sent any more
//	GET    /v1/spent           the spending of a scope, kind=KIND and id=ID
//	GET    /v1/runs            runs that have spent something and have no open door, after=NAME
//	POST   /v1/forget          forgets the spending of such runs; a JSON list of their names
//	GET    /v1/events          exchanges that have ended, after=NUMBER; follow=1 goes on
package control
