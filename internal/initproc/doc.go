// Package initproc is sandbox-init: process 1 of a sandbox from its first moment to its last.
//
// Init holds until the host has looked at the sandbox and releases it. Then it reads one host-owned run file. Package
// runfile describes that file, and everything that init says on standard error. Init makes sure that the sandbox is as
// the host meant it to be, runs the agent, and ends with it. Its promises:
//
//   - Before the release init reads nothing of the run and stays dumpable, so that the host can look at it. If its
//     input ends without a release, init ends with runfile.AbandonedExit, and no agent ran.
//   - No instruction of the agent runs in a sandbox that is not the pinned one: as root, with a capability, without
//     no_new_privs, or with another directory at the place of a mount. Init stops before that, and says which of these
//     it found.
//   - No instruction of the agent runs unfiltered. The launcher puts a filter of system calls at runfile.FilterPath,
//     and init installs it in all its threads. Before that nothing filters init's own calls, but nothing of the agent
//     runs yet. If the filter is missing or cannot be installed, the run ends.
//   - Init's lines on standard error come before every byte of the agent's. After a started line every exit code is the
//     agent's, as runfile.ExitFor spells it: n for exit n, 128+n for signal n, 126 for a program that cannot be
//     executed, 127 for a program that does not exist. Without that line the exit code is runfile.FailedExit.
//   - INT, TERM, HUP, QUIT, USR1 and USR2 reach the agent's process group. A signal that comes before the agent runs
//     ends the run with 128+n. There is a gap in the first millisecond, while Go's runtime starts: then the kernel
//     drops a signal, or the runtime ends the program without a started line.
//   - The agent starts with nothing of init's. It gets the given environment, default signal actions, an empty signal
//     mask, a session of its own, and the descriptors 0, 1 and 2.
//   - Init reaps orphans while the agent runs. When the agent has ended, init kills everything else in the sandbox, and
//     reports the exit when nothing is left.
//   - The agent has the same uid as init. But it can neither trace init, nor read init's memory or environment, nor end
//     init by a signal. It may lower init's limits; at worst that ends its own sandbox. Init has every thread and
//     process that it needs before the agent starts. So the agent may use up the sandbox's process limit.
//
// If the sandbox cannot open the host's sockets, init passes the agent's connections on to the sockets of the profile
// (doors.go). The number of connections and buffers is bounded, and one thread serves all of them. In the same way a
// port of the sandbox's loopback address leads to a socket, because many agents take only an address.
//
// Sandbox-init can also run as the adapter of an agent (package adapter). It then only gives the adapter its own way of
// starting programs.
//
// Whatever init does by path goes through handles. It opens them component by component, without following a link. This
// plain walk is enough, and works on every kernel and in gVisor.
package initproc
