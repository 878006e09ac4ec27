// Package serve turns a configuration into a running host. It locks and opens everything that a watcher needs, runs the
// watcher, and undoes everything in reverse order.
//
//	err := serve.Run(ctx, serve.Options{Config: config, Log: log, Signals: signals})
//
// Two other jobs need the same parts without serving an outbox. OpenTrial tries the promises of the configuration, with
// an installation of its own that is thrown away. Purge removes everything that an installation has left.
//
// It promises:
//   - If a step fails, serve undoes the steps before it, and says which part of the configuration failed.
//   - Nothing is made before the launchers have answered and the host has looked at the directories.
//   - There is one watcher for each state directory and for each outbox. The error of a second watcher names the first.
//   - A reload waits for a launcher that hangs. Meanwhile the old configuration is served.
//   - After the first TERM or INT the host takes no more requests. It responds to all requests that it has, within the
//     configured budget. The next signal kills. Operators reach the watcher until it has ended.
package serve
