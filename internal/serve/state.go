package serve

import (
	"context"
	"fmt"
	"os"

	"torno/configs"
)

func (h *host) makeState(context.Context) error { return MakeState(h.Config.State) }

// MakeState makes the state directory where it is missing, and refuses one that another user could exchange. It looks again
// afterwards: what is missing in a directory such as /tmp can be made by any user first.
func MakeState(dir string) error {
	if err := configs.HeldState(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	return configs.HeldState(dir)
}
