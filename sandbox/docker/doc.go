// Package docker launches sandboxes with a Docker engine. Only this package and the packages below it import Docker's
// modules in the product, and only package engine calls the client.
//
//	l, err := docker.New(ctx, docker.Options{Options: local.Options{
//		Installation: "0123456789abcdef", // everything on the engine that is ours carries it
//		StateDir:     "/var/lib/torno",
//		InitPath:     "/usr/lib/torno/sandbox-init",
//		Bases:        bases, // the operator's directories, held open
//	}})
//	defer l.Close() // sandboxes live on
//
// The launcher has all methods of sandbox.Launcher: Create, Start, Open, List, Remove, Check and so on. Purge takes an
// installation off an engine.
//
// This package opens a launcher, and knows which sandboxes there are. The packages below it do the work:
//
//   - engine is the client of the daemon, and knows which daemon answers.
//   - names has the names and labels of everything that is ours.
//   - image keeps the images and volumes for sandboxes: the empty image, the volume with init, the operator's images.
//   - recipe is the pure configuration of one container.
//   - create turns an order into a container that has not been started.
//   - box carries a container from its start to its end, with its streams.
//   - output reads the container's output.
//   - processes looks at a container from the host, without the engine.
//   - survey asks an engine about itself and about leftovers on it, without a launcher.
//
// None of them knows the Launcher: each is given everything that it needs.
//
// A sandbox is one container. Its configuration comes from one pure function, recipe.Recipe.Container. The function
// takes a recipe (limits, identity, mounts) and adds constants: no network, no capability, no new privileges, a system
// call filter of our own, a read-only root, namespaces of its own. Nothing in a recipe could say otherwise, and so
// nothing in a Spec, a request or a profile could (I1). A test checks every field of the engine's types against a
// table.
//
// How a sandbox gets its parts:
//
//   - Its programs are the host's, read-only, on an empty image that New imports; or they come from an operator's
//     image.
//   - Its process 1 is sandbox-init. It comes from a volume that is named by its content, so the engine need not see
//     our disk.
//   - Workspace and context are pinned by handle. They are moved, as clones with exchanged ids, into the sandbox's
//     slot, and the engine binds the slot. New tries in a throw-away sandbox whether that works here. If it does not,
//     the engine is given the path and the sandbox runs as the workspace's owner. Then init's comparison of device and
//     inode is the guard (I4).
//   - The host's information for the sandbox is in files of the slot's run directory, never in argv, environment or
//     labels (I7).
//
// A run costs eight calls to the engine: create, attach twice (for the output and for the input), a look at the volume
// with init beside them (to recognise the engine), start, inspect (to find the process to attest), wait, remove. The
// launcher does not wait for the engine to tell the end of a run: init marks the end of its output, and the kernel
// tells that init is dead. If the host cannot see this, the launcher waits for the engine.
//
// Start lets init begin, and hold. Attest looks at the sandbox from outside: mounts, identity, namespaces, filter,
// limits, program. It compares them with values that are only in memory. So a sandbox from an earlier life cannot be
// attested, and the watcher makes a new one.
//
// The launcher attaches to the output before the start and reads it raw. So the output is whole, however much it is,
// and waits for its reader. A later attachment, for example after a restart, reads the engine's bounded log after the
// last cursor, and tells a gap if that part of the log is gone. Package output explains why there are two readers.
//
// Everything can be repeated and survives a crash at any point: the container's name derives from the sandbox's id, its
// labels tell whose it is, and New adopts the slots of existing containers and empties all others (I9, I14).
//
// For package pool the launcher also makes sandboxes ahead of runs (prepare.go).
package docker
