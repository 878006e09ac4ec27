// Package serve makes a running host of a configuration: it locks and opens everything that a watcher needs, runs it,
// and puts everything back in reverse.
//
//	err := serve.Run(ctx, serve.Options{Config: config, Log: log, Signals: signals})
//
// Two other jobs need the same parts without serving an outbox: OpenTrial tries what the configuration promises, with an
// installation of its own that is thrown away, and Purge removes everything that an installation has left.
//
// It promises:
//   - A step that fails undoes the ones before it, and says which thing of the configuration failed.
//   - Nothing is made before the launchers have answered and the directories were looked at.
//   - One watcher for each state directory and each outbox; the error of a second one names the first.
//   - A reload waits for a launcher that hangs, while the old configuration is served on.
//   - After the first TERM or INT the host takes no more requests and responds to all it has within the configured budget;
//     the next signal kills.
//     Operators reach the watcher until it has ended.
package serve
