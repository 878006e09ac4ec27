// Package docker launches sandboxes with a Docker engine. It and the packages below it are the product's only importers of Docker's modules,
// and package engine is the only one that calls the client.
//
//	l, err := docker.New(ctx, docker.Options{Options: local.Options{
//		Installation: "0123456789abcdef", // everything on the engine that is ours carries it
//		StateDir:     "/var/lib/torno",
//		InitPath:     "/usr/lib/torno/sandbox-init",
//		Bases:        bases, // the operator's directories, held open
//	}})
//	defer l.Close() // sandboxes live on
//
// What is sandbox.Launcher's is there: Create, Start, Open, List, Remove, Check. Purge takes an installation off an engine.
//
// This package opens a launcher, and knows which sandboxes there are. The packages below it do the work:
//
//   - engine is the client of the daemon, and knows which daemon answers.
//   - names has the names and labels of what is ours.
//   - image has what lies on the engine for sandboxes: the empty image, the volume with init, the operator's images.
//   - recipe is the pure configuration of one container.
//   - create turns an order into a container that has not been started.
//   - box carries a container from its start to its end, with its streams.
//   - output reads what it prints.
//   - processes looks at it from the host, without the engine.
//   - survey asks an engine what it is and what was left on it, without a launcher.
//
// None of them knows the Launcher: each is given what it needs.
//
// A sandbox is one container. Its configuration comes out of one pure function, recipe.Recipe.Container, which takes a recipe
// (limits, identity, mounts) and adds constants: no network, no capability, no new privileges, a system call filter of
// our own, a read-only root, namespaces of its own. There is nothing in a recipe, and so nothing in a Spec, a request
// or a profile, that could say otherwise (I1); a test holds every field of the engine's types against a table.
//
// How it gets its parts:
//
//   - Its programs are the host's, read-only, on an empty image that New imports; or those of an image of the operator's.
//   - sandbox-init is process 1. It comes out of a volume that is named by its content, so that the engine need not see our disk.
//   - Workspace and context are pinned by handle and moved, as clones with exchanged ids, into the sandbox's slot, which
//     the engine binds. New tries whether that works here, in a throw-away sandbox. Where it does not, the engine is given
//     the path, the sandbox runs as the workspace's owner, and init's comparison of device and inode is the guard (I4).
//   - What the host has to tell is in files of the slot's run directory, never in argv, environment or labels (I7).
//
// What a run costs is eight calls to the engine: create, attach twice (for the output and for the input), a look at the volume with init
// beside them (which tells the engine), start, inspect (which process to attest), wait, remove. The end of a run is not the engine's
// to tell: init marks the end of its output, and the kernel says that it is dead. What the host does not see it waits for.
//
// Start lets init begin, and hold. Attest looks at it from outside: mounts, identity, namespaces, filter, limits, program. What
// the look compares with is in memory, so a sandbox that an earlier life made is not attested: the watcher makes another one.
//
// The output is attached to before the start and read raw: it is whole, however much it is, and waits for its reader.
// An attachment that comes later, after a restart for one, reads the engine's bounded log after the last cursor and
// tells a gap if what was there is gone. Package output says why there are two readers.
//
// Everything can be repeated and survives a crash at any point: the container's name derives from the sandbox's id, its
// labels say whose it is, New adopts the slots of containers that are there and empties all others (I9, I14).
//
// For package pool it makes sandboxes ahead of runs (prepare.go).
package docker
