// Package massgen knows the form of MassGen's run configuration. A request carries it as yaml_config. The package knows
// where the configuration names context, where it names directories that agents write, and which of its keys ask for
// containers. It writes the configuration so that every reader of YAML reads the same values.
//
// Run.Config makes the run configuration for a MassGen in a sandbox. Apart from that the package decides nothing:
// package compile decides which of the paths a sandbox may have, and the agent decides how it uses the file. The
// package imports nothing of Torno, so every package that deals with MassGen can use it:
//
//	places, wrong := massgen.ContextPaths(request.YAMLConfig)
//	file, err := massgen.Encode(massgen.Clean(request.YAMLConfig))
package massgen
