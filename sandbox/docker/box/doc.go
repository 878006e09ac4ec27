// Package box carries a container from its start to its end: Start attaches and lets init begin, an attachment follows the output, gives init
// its word, hands signals on, and finds out how it ended.
//
// A Box is what this process knows of one sandbox: its streams, whether it holds, and its end as it was seen first. A Reach is how boxes
// reach their containers, and is given the client of the engine; it knows nothing of the launcher except one callback, Restore.
// Which box belongs to which container the launcher knows.
//
// An end is seen in two ways, and the first one counts. Init marks the end of both streams, and the kernel says that it is dead: see end.go.
// Where the host sees none of this, the engine is waited for.
package box
