// Package configs reads the operator's configuration: one YAML file, or a few flags, become a Config that is complete,
// checked and printable.
//
//	config, warnings, err := configs.Load(launchers.All, "/etc/torno/watcher.yaml")
//	config, warnings, err := configs.Local(launchers.All, configs.LocalOptions{Dir: "./outbox"})
//	for _, policy := range config.Policies() { … }
//
// What it promises:
//   - Nothing is guessed. An unknown key, a key that is there twice, a value of another kind and a value out of its
//     range are errors that name the file, the line, the key, what is allowed and the nearest known word. All of them are
//     reported at once.
//   - It fails closed. An outbox without allowed roots, a root that holds the engine's socket, the state directory or a
//     part of the system, outboxes within one another: none of them loads (I3).
//   - Reading is bounded: the file's size is capped, and aliases, anchors, merge keys and custom tags are refused, so that
//     the text says everything.
//   - Load reads the file and, for two defaults, the environment. All checks that look at the machine are in CheckHost.
//   - Marshal writes the whole of a Config, defaults included, and Parse reads that back as the same Config.
//
// The schema is one table (schema.go) from which reading, writing and the list of known keys come.
// examples/full.yaml documents every key; a test keeps it complete.
package configs
