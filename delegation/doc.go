// Package delegation is the wire between an agent in a container and the host. It defines the files of an outbox and
// their contents, and it reads and writes them although neither side trusts the other. docs/PROTOCOL.md says the same
// for people who write a client in another language.
//
// An outbox is a directory that one parent and one watcher share. The parent asks by writing a file and gets its
// response in a file:
//
//	parent                                   watcher
//	──────                                   ───────
//	request_<id>.json      ───────────────►  read once, checked, journalled, queued
//	                       ◄───────────────  status_<id>.json, events_<id>.<request>.<n>.jsonl
//	input_<id>.<request>.<n>.json  ───────►  its agent is told something
//	cancel_<id>            ───────────────►  the run is ended
//	                       ◄───────────────  response_<id>.json, when the last process is gone
//	remove request, then response            watcher.json, all the time: the watcher's heartbeat
//
// A run is one attempt to do one request. It goes through these states:
//
//	          ┌──────────── ended early ─────────────┐
//	          │           │          │               ▼
//	queued ───┴► starting ┴► running ┴─────────────► ended (Reason)
//	                          │   ▲                    │
//	                          ▼   │                    ▼
//	                         waiting                 Reason.Wire: completed, error, timeout or cancelled
//
// # Values
//
// [DecodeRequest] turns hostile bytes into a [Request] whose ids and words have been parsed ([SubagentID], [RequestID],
// [Token]), or into a [Refusal] with a [Code] for programs and a sentence for people. It forgives a fixed list of
// differences and nothing else; [Request.Encode] writes exactly one spelling. Responses, statuses, heartbeats and
// events have their own pairs of functions. The parent reads those, and treats them as hostile too, because other
// processes may write into the outbox.
//
// # Files
//
// [Dir] is an open outbox. [Dir.Read] takes a regular file that has one name and is under a size limit. It never
// follows a link and never waits, and the bytes that it returns did not change while it read them. It never opens a
// device, a pipe or a link. [Dir.Publish] makes a file appear whole and gives it to the outbox's owner. It replaces any
// entry of that name except a directory. Both cost the same however many files there are.
//
// # Promises
//
//   - No text of a request becomes part of a path or a name unless it was parsed as a [SubagentID].
//   - Nothing here panics, blocks or allocates more than its input allows, whatever the files hold.
//   - Every entry named request_*.json can be answered, even if it is no request: [RefuseEntry], [PeekIDs] and
//     [ResponseNameFor] serve that. The only exception is a name so long that the response's name would not fit.
//   - A decoded response has one of the four statuses of version 1.
//
// The reader of a file sets the size limit, through the max of [Dir.Read].
package delegation
