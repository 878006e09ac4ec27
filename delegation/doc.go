// Package delegation is the wire between an agent in a container and the host: the files of an outbox, what may stand in
// them, and how to read and write them when the other side is not to be trusted. docs/PROTOCOL.md says the same for
// people who write a client in another language.
//
// An outbox is a directory that one parent and one watcher share. The parent asks with a file and gets its response in a
// file:
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
// A run, which is one attempt to do one request, goes through these states:
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
// [DecodeRequest] turns hostile bytes into a [Request] whose ids and words were parsed ([SubagentID], [RequestID],
// [Token]), or into a [Refusal] with a [Code] for programs and a sentence for people. It forgives a listed set of
// differences and nothing else, and [Request.Encode] writes exactly one spelling. Responses, statuses, heartbeats and
// events have their own pairs; the parent reads those, and treats them as hostile too, since other
// processes may write into the outbox.
//
// # Files
//
// [Dir] is an open outbox. [Dir.Read] takes a regular file with one name, under a size limit, never follows
// or waits, and returns bytes that did not change while they were read; no device, pipe or link is ever opened.
// [Dir.Publish] makes a file appear whole, under a name that may hold anything but a directory, and gives it to the
// outbox's owner. Both cost the same however many files there are.
//
// # Promises
//
//   - No text of a request becomes part of a path or a name unless it was parsed as a [SubagentID].
//   - Nothing here panics, blocks or allocates more than its input allows, whatever the files hold.
//   - An entry named request_*.json can always be answered: [RefuseEntry], [PeekIDs] and [ResponseNameFor] serve those
//     that are no request. Only a name that leaves no room for a response's name cannot.
//   - A response, once decoded, has one of the four statuses of version 1.
//
// Size limits are the reader's, through the max of [Dir.Read].
package delegation
