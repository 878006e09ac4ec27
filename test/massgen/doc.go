// Package massgen is a stand-in for MassGen, which cannot be had where these tests run. It takes the arguments, reads the run configuration, asks the
// model and writes the files that MassGen's documents and source tell of, at the fork's state of March 2026. It knows nothing of our
// adapter. What a MassGen prints, and what is in the turn of a session, is told nowhere: there the stand-in does as it likes.
//
//	os.Exit(massgen.Main(os.Args))       // the program
//	err := massgen.Install(dir, program) // as people have it: a script in an environment of Python's
//
// A task that begins with #massgen has it do what a MassGen can come to: see the table of scenes.
package massgen
