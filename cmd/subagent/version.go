package main

import (
	"context"
	"fmt"
	"runtime"

	"torno/delegation"
	"torno/internal/version"
)

func (c *cli) versionCommand() command {
	return command{
		name: "version", brief: "print the version",
		run: func(_ context.Context, operands []string) (int, error) {
			if len(operands) > 0 {
				return 0, usage("version takes no operands")
			}
			if c.json {
				return exitCompleted, c.object(map[string]any{"version": version.String(), "protocol": delegation.Version})
			}
			_, err := fmt.Fprintf(c.out, "subagent %s, protocol %d, %s %s/%s\n",
				version.String(), delegation.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitCompleted, err
		},
	}
}
