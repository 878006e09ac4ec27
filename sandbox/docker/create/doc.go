// Package create turns an order into a container that has not been started: it chooses the root, pins what the request names, takes a slot,
// decides as which user the sandbox runs, lays mounts and files into the slot, and asks the engine.
//
// It is given a Ground, which is the same for every sandbox of an installation, and hands back what it Created with all that is known of it.
// It knows nothing of the launcher except two callbacks, Restore and Known.
//
// A step that fails undoes those before it. Where that cannot be done, because the engine is away for one, the launch is kept in FailedLaunches and
// undone later; until then its sandbox must not be created again.
package create
