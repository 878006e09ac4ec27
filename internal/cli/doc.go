// Package cli is the frame around the commands of a program. One table holds the commands and options. From it the
// frame parses arguments, writes help and makes shell completion, so the three always agree.
//
//	p := &cli.Program{Name: "watcher", Introduction: "…", Diagnose: diagnose}
//	p.Commands = []cli.Command{runCommand(p), …}
//	os.Exit(p.Main(ctx, os.Args[1:], cli.Process()))
//
// Every program has help, completion and --json beside its own commands. It promises:
//
//   - Standard output carries what the user asked for and nothing else; words about it go to standard error.
//   - After a mistyped word the error suggests the nearest known word. Every error names a next step if there is one.
//   - Text from strangers cannot control a terminal: Output and OneLine make its control characters visible there.
package cli
