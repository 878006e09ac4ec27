// Package process looks after a gateway for a watcher: a process of the watcher's own, or one that something else runs.
//
//	s := &process.Supervisor{State: dir, Setup: text, Program: find, Client: control.Dial(dir), Log: log, Trouble: tell}
//	s.Look(ctx)   // once, before anything needs the gateway
//	s.Run(ctx)    // until the watcher ends
//
// What it promises:
//   - A gateway that serves is taken as it is, whichever watcher started it. Only where none answers it starts one, and only if
//     the gateway is the watcher's own.
//   - The process is in a session of its own, and has none of the watcher's descriptors. It goes on when the watcher ends.
//   - The gateway is told routes and prices whenever those that it has are others.
//   - Where we are root, a gateway that we start has a user of its own, and a warden (cmd/model-gateway). What that may read is written down by us.
//   - What keeps it from that is told when it begins and when it is over, and tried again, ever more slowly.
package process
