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
//   - file, systemd (LoadCredential): read for every request, so a rotation counts at once. The file belongs to root or to the
//     gateway's user, and others can neither write nor read it.
//   - command: what it prints, or {"value": "…", "expires": "2026-01-02T15:04:05Z"}. It runs once at a time, for at most half a
//     minute, without standard input and without the gateway's environment; its output is bounded. The value is kept until a
//     minute before it expires, or for ten minutes, and read again when the upstream refuses it, though not in a storm.
//   - claude, codex: the file that the program's own login wrote. The host holds the tokens and refreshes them, and puts them
//     back into that file, so that the program on the host goes on. Gateways and routes that share a login refresh it one at a
//     time. See login.go for what could not be tried here.
//   - aws: the key signs each request (Signature Version 4). It comes from a file (credentials, or JSON) or a command
//     (credential_process).
//
// # Who reads it
//
// A gateway reads credentials itself (Open), or has a Warden read them, which has the rights that it lacks (Access.Open): it names a route
// there, and the warden reads what the watcher has said of that route.
//
//	(&credential.Warden{Routes: said, Setup: text}).Serve(ctx, wardens)   // in one process
//	access := credential.NewAccess(gateways)                              // in the other one
//
// A secret is never in an error, and a Secret prints as "(secret)" in every form. Known remembers every secret that was read,
// also those that have been replaced, and takes them and pieces of them out of a text.
package credential
