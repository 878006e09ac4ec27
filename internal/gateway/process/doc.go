// Package process looks after a gateway for a watcher. The gateway is the watcher's own process, or something else runs
// it.
//
//	s := &process.Supervisor{State: dir, Setup: text, Program: find, Client: control.Dial(dir), Log: log, Trouble: tell}
//	s.Look(ctx)   // once, before anything needs the gateway
//	s.Run(ctx)    // until the watcher ends
//
// What it promises:
//
//   - If a gateway already serves, the watcher uses it, whichever watcher started it. The watcher starts a gateway only
//     if none answers, and only if the gateway is its own.
//   - A started gateway is in a session of its own, and gets none of the watcher's descriptors. It goes on when the
//     watcher ends.
//   - The watcher sends its routes and prices whenever the gateway has others.
//   - If the watcher is root, a gateway that it starts has a user of its own, and a warden (cmd/model-gateway). The
//     watcher writes down which credentials the warden may read.
//   - The watcher reports trouble when it begins and when it is over. It tries again meanwhile, with ever longer
//     pauses.
package process
