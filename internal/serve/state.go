package serve

import (
	"context"
	"fmt"
	"os"

	"torno/configs"
)

func (h *host) makeState(context.Context) error { return MakeState(h.Config.State) }

// MakeState makes the state directory if it is missing, and refuses one that another user could exchange. It looks
// again afterwards, because in a directory such as /tmp any user could make it first.
func MakeState(dir string) error {
	if err := configs.HeldState(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	return configs.HeldState(dir)
}
