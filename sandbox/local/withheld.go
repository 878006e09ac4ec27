package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"torno/internal/engines"
	"torno/internal/mounts"
)

// Withhold keeps every path out of sandboxes that would give a child control of the host: our own state and the
// engines' sockets, under all their names (B8).
func Withhold(bases *mounts.Bases, stateDir string, sockets []string) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	withheld := []mounts.Withheld{{Path: stateDir, What: "Torno's own state"}}
	for _, socket := range sockets {
		withheld = append(withheld, mounts.Withheld{Path: socket, What: "an engine's socket", Socket: true})
	}
	for _, dir := range engines.Dirs() {
		withheld = append(withheld, mounts.Withheld{Path: dir, What: "an engine's own directory"})
	}
	for _, kept := range withheld {
		if err := bases.Withhold(kept); err != nil && !errors.Is(err, fs.ErrNotExist) && !closed(err) {
			return err
		}
	}
	return nil
}

// closed reports whether an ordinary user's watcher may not even look at a path. Then the watcher cannot bring the path
// into a sandbox, and a sandbox has no more rights than its watcher.
func closed(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 }
