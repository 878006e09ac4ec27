// Package processes looks at a container's processes from the host, without the engine: in /proc, by control group and
// user.
//
// A Subject is the init of a sandbox that holds. Look compares the kernel's facts about it with the order to the
// engine: its mounts, identity, namespaces, filter, limits and program. Only a host with Linux can look; elsewhere
// Unseen gives the reason.
//
// Remains are processes that an engine may have forgotten. If an engine dies while it starts a container, it believes
// later that it never did. The started processes live on, and the engine can neither see nor end them. Then a second
// start would be a second run, and a removal would remove only the name.
package processes
