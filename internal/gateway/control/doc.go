// Package control is how a watcher, or an operator, reaches a running gateway: HTTP and JSON on a unix socket in the gateway's
// state directory, 0600, for its own user and root only. Paths begin with the version; a field is added, never renamed.
//
//	GET    /v1/status          which program it is, which routes there are, how many doors
//	PUT    /v1/setup           routes and prices, as package setup reads them (application/yaml)
//	POST   /v1/stop            lets answers under way come to their end, and ends, as SIGTERM does
//	POST   /v1/routes/NAME/try asks a route's upstream something that costs nothing, model=MODEL, and says what is wrong
//	GET    /v1/doors           all doors, with what went through them and what their runs have spent
//	POST   /v1/doors           opens a door; where the same door is open already, returns that
//	GET    /v1/doors/ID        a door, with what went through it
//	PATCH  /v1/doors/ID        which processes are served, and whether the final answer comes now
//	DELETE /v1/doors/ID        closes a door; after the reply nothing is sent any more
//	GET    /v1/spent           what a scope has spent, kind=KIND and id=ID
//	GET    /v1/runs            runs that have spent something and have no open door, after=NAME
//	POST   /v1/forget          forgets what such runs have spent; a JSON list of their names
//	GET    /v1/events          what has ended, after=NUMBER; follow=1 goes on
package control
