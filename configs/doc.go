// Package configs reads the operator's configuration. From one YAML file, or from a few flags, it makes a Config that
// is complete, checked and printable.
//
//	config, warnings, err := configs.Load(launchers.All, "/etc/torno/watcher.yaml")
//	config, warnings, err := configs.Local(launchers.All, configs.LocalOptions{Dir: "./outbox"})
//	for _, policy := range config.Policies() { … }
//
// The package promises:
//   - It guesses nothing. An unknown key, a key that is there twice, a value of the wrong kind and a value out of range
//     are errors. Each error names the file, the line, the key, the allowed values and the nearest known word. All
//     errors are reported at once.
//   - It fails closed. It refuses a configuration if an outbox has no allowed roots, if a root holds the engine's
//     socket, the state directory or a part of the system, or if outboxes lie within one another (I3).
//   - Reading is bounded. The file's size is capped. Aliases, anchors, merge keys and custom tags are refused, so every
//     value stands where it applies.
//   - Load reads the file and, for two defaults, the environment. All checks that look at the machine are in CheckHost.
//   - Marshal writes the whole of a Config, defaults included, and Parse reads that back as the same Config.
//
// The schema is one table (schema.go). Reading, writing and the list of known keys all use it.
// examples/full.yaml documents every key; a test keeps it complete.
package configs
