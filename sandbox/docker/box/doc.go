// Package box carries a container from its start to its end. Start attaches and lets init begin. An attachment follows
// the output, gives init its word, passes signals on, and finds out how the container ended.
//
// A Box is this process's knowledge of one sandbox: its streams, whether it holds, and its end as first seen. Boxes
// reach their containers through a Reach, which is given the client of the engine. The Reach knows nothing of the
// launcher except one callback, Restore. The launcher knows the box of each container.
//
// An end is seen in two ways, and the first one counts. Either init marks the end of both streams and the kernel tells
// that init is dead (see end.go), or, if the host sees none of this, the engine tells the end.
package box
