// Package cli is the frame around the commands of a program: one table of commands and options, from which arguments are
// read, help is written and shell completion is made, so that the three always agree.
//
//	p := &cli.Program{Name: "watcher", Introduction: "…", Diagnose: diagnose}
//	p.Commands = []cli.Command{runCommand(p), …}
//	os.Exit(p.Main(ctx, os.Args[1:], cli.System()))
//
// Every program has help, completion and --json beside its own commands. It promises:
//
//   - Standard output carries what was asked for and nothing else; words about it go to standard error.
//   - A mistake names the nearest word that is known, and every error a next step where there is one.
//   - Text of strangers cannot control a terminal: Output and OneLine make its control characters visible there.
package cli
