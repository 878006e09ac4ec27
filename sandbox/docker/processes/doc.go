// Package processes is what the host sees of a container's processes by itself, without the engine: in /proc, by control group and user.
//
// A Subject is the init of a sandbox that holds. Look compares what the kernel says of it with what was asked of the engine: its mounts,
// identity, namespaces, filter, limits and program. Only a host with Linux can look; Unseen says so elsewhere.
//
// Remains are what an engine may have forgotten. An engine that dies while it starts a container believes, when it is back, that it never
// did. What it started lives on, and it can neither see nor end it: a second start would be a second run, and a removal removes the name
// only.
package processes
