// Package output brings a child's output to its readers.
//
//	chunks of an attachment ──► Child ──► init's first line: the agent has started, or why not
//	                                 ├──► tails, for the response
//	                                 └──► Live: segments, small files that the client reads while the run goes on
//
// Notes keep on the host how far the output was taken, so that the next watcher doubles nothing and says where
// something is missing.
package output
