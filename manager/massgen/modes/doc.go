// Package modes knows how MassGen starts its server of subagents, and where that server runs its children.
//
//	settings, warnings, err := modes.Parse(args, work, os.ReadFile) // the argv of MassGen's own server
//	seconds := settings.Clamp(asked)                              // how long a child may run
//	way, err := settings.Choose(modes.Host{InContainer: true, Outbox: true})
//
// # Promises
//
// Parse opens no file itself, and starts nothing. MassGen's errors and warnings are MassGen's words to the letter.
//
// In the modes isolated and delegated, Choose puts a child into a sandbox if a watcher serves the outbox: both modes
// ask for that. If no watcher serves, a child runs outside a sandbox only if the settings themselves say so (the mode
// inherited, the fallback inherited, or a prefix for the host), and then with a warning. Otherwise Choose returns an
// error. It never falls back by itself.
package modes
