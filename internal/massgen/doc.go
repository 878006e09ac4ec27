// Package massgen knows the form of MassGen's run configuration, which a request carries as yaml_config: where it names
// context, where it names directories that agents write, which of its keys ask for containers, and how it is written so
// that every reader of YAML takes it for the same values.
//
// A run configuration for a MassGen in a sandbox is made by Run.Config. Beside that the package decides nothing. Which of the paths a sandbox may have is for package compile, and what an agent does with the file is
// for the agent. It imports nothing of Torno, so that every room which has to do with MassGen can use it:
//
//	places, wrong := massgen.ContextPaths(request.YAMLConfig)
//	file, err := massgen.Encode(massgen.Clean(request.YAMLConfig))
package massgen
