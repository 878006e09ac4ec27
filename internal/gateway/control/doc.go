// Package control is how a watcher, or an operator, reaches a running gateway: HTTP and JSON on a unix socket in the gateway's
// state directory, 0600, for its own user and root only. Paths begin with the version; a field is added, never renamed.
//
//	GET    /v1/status          which program it is, which routes there are, how many doors
//	PUT    /v1/setup           routes and prices, as package setup reads them (application/yaml)
//	GET    /v1/doors           all of them
//	POST   /v1/doors           opens one; the same one asked for again is the one that is open
//	GET    /v1/doors/ID        one, with what went through it
//	PATCH  /v1/doors/ID        who is served, and whether the final answer comes now
//	DELETE /v1/doors/ID        closes one; when it answers nothing is sent any more
//	GET    /v1/events          what has ended, behind after=NUMBER; follow=1 goes on
package control
