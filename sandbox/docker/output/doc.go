// Package output reads what a sandbox prints, out of an engine's streams. It knows neither the engine nor a container: it is given a
// stream, and delivers chunks with cursors.
//
// There are two readers, and they stay two, because neither can do the work of the other.
//
// Live reads the stream that the launcher attached to before the start. It is whole, however much the agent prints, and waits for its
// reader. It costs a start nothing beside the one call. But it ends with the process of the watcher, and nothing can be read twice.
//
// Log reads the log that the engine keeps. It serves every attachment after the first one: a watcher that was restarted goes on after its
// last cursor. The log is bounded, so its beginning may be gone; what was lost is told as a gap. It is no substitute for Live: Docker's
// follower of a log that is being written and rotated lost 12 of 20 MB, and said nothing.
//
// Both end where init has marked the end of both streams, and hold back what may be the beginning of such a mark.
package output
