// Package credential keeps the secrets by which upstreams know us. No other package has them.
//
//	known := credential.NewKnown()
//	source, err := credential.Open(r.Credential, known)
//	err = credential.Apply(ctx, source, request, body)   // exactly the configured header, and none of the client's
//	if answer.StatusCode == 401 { source.Refused(ctx) }  // the next request reads the secret again
//	text = known.Scrub(text)                             // before any text of an upstream is logged or shown
//
// # Where a secret comes from
//
//   - file, systemd (LoadCredential): the gateway reads the file for every request, so a rotation takes effect at once.
//     The file belongs to root or to the gateway's user, and others can neither write nor read it.
//   - command: the command prints the secret, or {"value": "…", "expires": "2026-01-02T15:04:05Z"}. It runs once at a
//     time, for at most half a minute, without standard input, and with only the variables that it needs to find its
//     own files; its output is bounded. The gateway keeps the value until a minute before it expires, or for ten
//     minutes if it has no end. If the upstream refuses the value, the gateway runs the command again, but not in a
//     storm.
//   - claude, codex: the file that the program's own login wrote. The gateway refreshes the tokens, and writes them
//     back into that file, so that the program on the host goes on working. Gateways and routes that share a login
//     refresh it one at a time. See login.go for the parts that could not be tried here.
//   - aws: a key signs each request (Signature Version 4). The key comes from a file (credentials, or JSON) or a
//     command (credential_process).
//
// # Who reads it
//
// A gateway reads credentials itself (Open), or asks a Warden (Access.Open), which has the rights that the gateway
// lacks. The gateway only names a route. The warden reads the place that the watcher configured for that route.
//
//	(&credential.Warden{Routes: said, Setup: text}).Serve(ctx, wardens)   // in one process
//	access := credential.NewAccess(gateways)                              // in the other one
//
// A secret is never in an error, and a Secret prints as "(secret)" in every form. Known remembers the secrets that were
// read, also replaced ones, and removes them, and pieces of them, from a text.
package credential
