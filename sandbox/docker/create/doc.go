// Package create turns an order into a container that has not been started. It chooses the root, pins the places that
// the request names, takes a slot, decides which user the sandbox runs as, lays mounts and files into the slot, and
// asks the engine.
//
// It is given a Ground, which is the same for every sandbox of an installation. It returns the sandbox that it Created,
// with everything that is known about it. It knows nothing of the launcher except two callbacks, Restore and Known.
//
// If a step fails, the steps before it are undone. If that fails too, for example because the engine is away,
// FailedLaunches keeps the launch and undoes it later. Until then its sandbox must not be created again.
package create
