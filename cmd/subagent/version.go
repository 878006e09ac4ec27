package main

import (
	"context"
	"fmt"
	"runtime"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/version"
)

func (c *app) versionCommand() cli.Command {
	return cli.Command{
		Name: "version", Brief: "print the version",
		Run: func(_ context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if len(operands) > 0 {
				return 0, cli.Usage("version takes no operands")
			}
			if c.JSON {
				return exitCompleted, c.Out.Object(map[string]any{"version": version.String(), "protocol": delegation.Version})
			}
			_, err := fmt.Fprintf(c.Out, "subagent %s, protocol %d, %s %s/%s\n",
				version.String(), delegation.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitCompleted, err
		},
	}
}
