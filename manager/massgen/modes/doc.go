// Package modes is how MassGen starts its server of subagents, and where that has its children run.
//
//	settings, warnings, err := modes.Parse(args, os.ReadFile)  // the argv of MassGen's own server
//	seconds := settings.Clamp(asked)                              // how long a child may run
//	way, err := settings.Choose(modes.Host{InContainer: true, Served: true})
//
// # Promises
//
// Parse opens no file itself, and starts nothing. The errors and the warnings of MassGen are its own to the letter.
//
// Choose has a child run in a sandbox where a watcher serves the outbox, in the modes isolated and delegated: that is what both of them
// ask for. Where none does, a child runs outside a sandbox only where the settings say so themselves (the mode inherited, the fallback
// inherited, or a prefix for the host), and then there is a warning. Otherwise it is an error: nothing falls back by itself.
package modes
