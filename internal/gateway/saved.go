package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/internal/boot"
)

// saved is a door on the disk, so that a gateway finds its doors again after a kill. The file is not flushed: after a
// power cut the sandboxes are gone as well.
type saved struct {
	Spec  Spec        `json:"spec"`
	Until boot.Moment `json:"until"`
}

const specSuffix = ".json"

// socketName is the name of the socket in its door's directory.
const socketName = "sock"

func (g *Gateway) socketDir(id string) string { return filepath.Join(g.Dir, id) }

// specFile returns the file of a door. It lies beside the directory that the child sees, not in it. No door's directory
// can have this name, because an id holds no slash and does not begin with a dot.
func (g *Gateway) specFile(id string) string { return filepath.Join(g.Dir, "."+id+specSuffix) }

func untilOf(spec Spec) boot.Moment { return boot.Now().Add(time.Duration(spec.Lasts)) }

// save writes a door to the disk. A door that is open already keeps its end.
func (g *Gateway) save(spec Spec) error {
	until := untilOf(spec)
	if d, ok := g.doors[spec.ID]; ok {
		until = d.until
	}
	raw, err := json.Marshal(saved{spec, until})
	if err != nil {
		return fmt.Errorf("write a door down: %w", err)
	}
	name := g.specFile(spec.ID)
	if err := os.WriteFile(name+".new", raw, 0o600); err != nil {
		return fmt.Errorf("write a door down: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write a door down: %w", err)
	}
	return nil
}

// forget removes the files of a closed door.
func (g *Gateway) forget(id string) {
	for _, path := range []string{g.specFile(id), filepath.Join(g.socketDir(id), socketName), g.socketDir(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			g.Log.Warn("the files of a closed door cannot be removed", "path", path, "error", err)
		}
	}
}

// Restore opens the doors of an earlier gateway again. It removes the files of doors whose time is over, or that it
// cannot read. It also opens a door whose route is gone, because the route may come back.
func (g *Gateway) Restore() error {
	entries, err := os.ReadDir(g.Dir)
	if err != nil {
		return fmt.Errorf("look for doors: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, entry := range entries {
		id, isSpec := strings.CutSuffix(strings.TrimPrefix(entry.Name(), "."), specSuffix)
		if !isSpec || !strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := g.restore(id); err != nil {
			g.Log.Warn("a door is not opened again", "door", id, "error", err)
			if !errors.Is(err, errNotNow) {
				g.forget(id)
			}
		}
	}
	return nil
}

func (g *Gateway) restore(id string) error {
	raw, err := os.ReadFile(g.specFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil { // such as too many open files
		return fmt.Errorf("%w: %w", errNotNow, err)
	}
	var s saved
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if err := s.Spec.check(); err != nil {
		return err
	}
	left, known := s.Until.Sub(boot.Now())
	if s.Spec.ID != id || !known || left <= 0 {
		return errors.New("its time is over, or the machine has restarted since")
	}
	if _, err := g.open(s.Spec, s.Until); err != nil {
		return fmt.Errorf("%w: %w", errNotNow, err)
	}
	return nil
}

// errNotNow means that a door stays written down for the next start: its run may still live, and has no other way out.
var errNotNow = errors.New("it cannot be opened now")
