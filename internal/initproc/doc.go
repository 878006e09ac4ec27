// Package initproc is sandbox-init: process 1 of a sandbox from its first moment to its last.
//
// It holds until the host has looked at the sandbox and releases it. Then it reads one host-owned run file (package runfile,
// which also describes what is said on standard error), makes sure that the sandbox is what the host meant it to be, runs the
// agent, and ends with it. Its promises:
//
//   - Before the release it reads nothing of the run and stays dumpable, so that the host can look at it. When its input ends
//     without a release, it ends with runfile.AbandonedExit, and no agent ran.
//   - No instruction of the agent runs in a sandbox that is not the pinned one: as root, with a capability, without
//     no_new_privs, or with another directory at the place of a mount. It stops before and says which.
//   - No instruction of the agent runs unfiltered. Where the sandbox was not made with a filter of system calls the run file
//     has one, which init installs in all its threads. What it does before that is not filtered, and nothing of the agent
//     runs then. A filter that cannot be installed, or none at all, ends the run.
//   - Its lines on standard error come before every byte of the agent's, and after a started line every exit code
//     is the agent's, as runfile.ExitFor spells it: n for exit n, 128+n for signal n, 126 for a program that cannot be
//     executed, 127 for one that is not there. Without that line it is runfile.FailedExit.
//   - INT, TERM, HUP, QUIT, USR1 and USR2 reach the agent's process group. A signal that comes before the agent runs ends the
//     run with 128+n. In the first millisecond, while Go's runtime starts, the kernel drops a signal or the runtime ends
//     the program without a started line.
//   - The agent starts with nothing of init's: the given environment, default signal actions, an empty signal mask, a
//     session of its own, and the descriptors 0, 1 and 2.
//   - Orphans are reaped while the agent runs. When it has ended, everything else in the sandbox is killed, and the exit
//     is reported when nothing is left.
//   - The agent, which has the same uid, can neither trace init nor read its memory or environment, nor end it by a
//     signal. It may lower init's limits, which ends its own sandbox at worst. Init has every thread and process that it
//     needs before the agent starts, so that an agent may use up the sandbox's process limit.
//
// Where the sandbox can open no socket of the host's, init passes the agent's connections on to the sockets of the profile
// (doors.go). The number of connections and buffers is bounded, and one thread serves all of them. In the same way a port of the
// sandbox's loopback address leads to a socket: many agents take an address only.
//
// As an agent it is also the adapter of another one (package adapter), which it then only gives its own way of starting programs.
//
// Everything that happens by path goes through handles that were opened component by component without following a
// link. A plain walk is enough, and works on every kernel and in gVisor.
package initproc
