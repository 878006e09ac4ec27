package cli

import (
	"context"
	"fmt"
	"runtime"

	"torno/internal/version"
)

// VersionCommand returns the version command, which every program has. protocol is the version of the wire protocol
// that the program speaks.
func (p *Program) VersionCommand(protocol int) Command {
	return Command{
		Name: "version", Brief: "print the version",
		Run: func(_ context.Context, args Args) (int, error) {
			if len(args.All()) > 0 {
				return 0, Usage("version takes no operands")
			}
			if p.JSON {
				return 0, p.Out.Object(map[string]any{"version": version.String(), "protocol": protocol})
			}
			_, err := fmt.Fprintf(p.Out, "%s %s, protocol %d, %s %s/%s\n",
				p.Name, version.String(), protocol, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return 0, err
		},
	}
}
