// Package serve makes a running host of a configuration: it locks and opens everything that a watcher needs, runs it,
// and puts everything back in reverse.
//
//	err := serve.Run(ctx, serve.Options{Config: config, Log: log, Signals: signals})
//
// Beside it stand the two jobs that need the same parts without serving anybody: OpenTrial tries what the configuration
// promises with an installation of its own that is thrown away, and Purge removes what an installation has left.
//
// What it promises:
//   - A step that fails undoes the ones before it, and says which thing of the configuration it was about.
//   - Nothing is made before the launchers have answered and the directories were looked at.
//   - One watcher for each state directory and each outbox; the second one is told who the first is.
//   - A reload waits for a launcher that hangs, while the old configuration is served on.
//   - The first TERM or INT ends the taking and answers everybody within the configured budget, the next one kills.
//     Operators reach the watcher until it has ended.
package serve
