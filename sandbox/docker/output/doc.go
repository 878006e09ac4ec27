// Package output reads a sandbox's output from an engine's streams. It knows neither the engine nor a container: it is
// given a stream, and delivers chunks with cursors.
//
// There are two readers, and they stay two, because neither can do the work of the other.
//
// Live reads the stream that the launcher attached to before the start. This stream is whole, however much the agent
// prints, and waits for its reader. The start needs only one call for it. But the stream ends with the process of the
// watcher, and nothing can be read twice.
//
// Log reads the log that the engine keeps. It serves every attachment after the first one: a restarted watcher goes on
// after its last cursor. The log is bounded, so its beginning may be gone; Log tells the loss as a gap. Log is no
// substitute for Live: while a log was being written and rotated, Docker's follower lost 12 of 20 MB, and said nothing.
//
// Both readers end when init has marked the end of both streams. They hold back bytes that may be the beginning of such
// a mark.
package output
