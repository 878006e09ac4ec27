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

	"torno/internal/atomicfile"
	"torno/internal/boot"
)

// saved is a door on the disk, so that a gateway finds its doors again after a kill. The file is not flushed: after a
// power cut the sandboxes are gone as well.
type saved struct {
	Spec  Spec        `json:"spec"`
	Until boot.Moment `json:"until"`
	// Tally has the counts when the door was written down last: when the first request of it was refused for a budget, or
	// used the part for the final answer, and when a gateway was shut.
	Tally Tally `json:"tally,omitzero"`
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
	s := saved{Spec: spec, Until: untilOf(spec)}
	if d, ok := g.doors[spec.ID]; ok {
		s.Until, s.Tally = d.until, d.counts()
		s.Tally.Open = 0 // the next gateway has none under way
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write a door down: %w", err)
	}
	if err := atomicfile.Write(g.specFile(spec.ID), raw, 0o600, atomicfile.Fast); err != nil {
		return fmt.Errorf("write a door down: %w", err)
	}
	return nil
}

// keep writes an open door down with its counts, so that its run's end is told right after a gateway that was killed.
func (g *Gateway) keep(d *door) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doors[d.id] != d {
		return // it was closed meanwhile
	}
	if err := g.save(d.spec()); err != nil {
		d.sayOnce("keep", "the counts of a door could not be kept for the next gateway", err)
	}
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
// does not understand. It also opens a door whose route is gone, because the route may come back. It reads all files
// before it opens the first door, because the connections of children that return may use up the descriptors.
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
		}
	}
	for id, d := range g.doors {
		if err := d.listen(); err != nil {
			g.Log.Warn("a door cannot be opened now; the gateway goes on trying", "door", id, "error", err)
			d.running.Go(d.listenLater)
		}
		go d.expire()
	}
	return nil
}

// restore takes up a door that does not listen yet.
func (g *Gateway) restore(id string) error {
	raw, err := os.ReadFile(g.specFile(id))
	if err != nil {
		return err // the file stays for the next start, because the door's run may live and has no other way out
	}
	s, err := parse(id, raw)
	if err != nil {
		g.forget(id)
		return err
	}
	d := g.newDoor(s.Spec, s.Until)
	if s.Tally.Codes != nil {
		d.tally = s.Tally
	}
	g.doors[id] = d
	return nil
}

// parse reads the file of a door. It returns an error if the door must not be opened again.
func parse(id string, raw []byte) (saved, error) {
	var s saved
	if err := json.Unmarshal(raw, &s); err != nil {
		return saved{}, err
	}
	if err := s.Spec.check(); err != nil {
		return saved{}, err
	}
	left, known := s.Until.Sub(boot.Now())
	if s.Spec.ID != id || !known || left <= 0 {
		return saved{}, errors.New("its time is over, or the machine has restarted since")
	}
	return s, nil
}
