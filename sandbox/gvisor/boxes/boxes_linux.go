package boxes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"torno/internal/atomicfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/lay"
)

// Record describes a box for the launcher that finds it.
type Record struct {
	Sandbox sandbox.SandboxID `json:"sandbox"`
	// Before holds the sandbox's id in records of the first version, in place of Sandbox. The init of that version did
	// not hold.
	Before  sandbox.SandboxID `json:"run,omitempty"`
	Slot    int               `json:"slot"`
	Profile string            `json:"profile"`
	Made    time.Time         `json:"made"`
	Image   string            `json:"image,omitempty"` // the digest of its image
	Device  uint64            `json:"device"`          // of the workspace; so is Inode
	Inode   uint64            `json:"inode"`
	Stdin   bool              `json:"stdin,omitempty"`
	// Wanted and Limits describe how the finished sandbox should look from outside.
	Wanted []attest.Want  `json:"wanted,omitempty"`
	Limits sandbox.Limits `json:"limits"`
	// Shared are the shared directories of the launcher that the sandbox uses; they lie beside the boxes. Earlier
	// versions did not note them.
	Shared []string `json:"shared,omitempty"`
	// Views are the views of the slot with their mounts.
	Views lay.Views `json:"views"`
	// Ahead is true if the sandbox was made ahead of a run, and the run has not come yet.
	Ahead bool `json:"ahead,omitempty"`
}

const (
	recordName = "box.json"
	bundleName = "config.json"
	// unfinished is a prefix for the name of a box that is being made or removed.
	unfinished = "."
)

// Boxes gives access to all boxes of a launcher.
type Boxes struct {
	home     string // the launcher's directory
	launcher string // its name, for handles
	keepers  *keeper.Children
	site     string // id of the launcher's directory; "" if it is not known
}

// In returns the boxes in a launcher's directory. It makes nothing, and does not read the directory's site.
func In(home, launcher string) *Boxes {
	return &Boxes{home: home, launcher: launcher, keepers: new(keeper.Children)}
}

// Make makes the directory of the boxes, and gives the launcher's directory an id if it has none.
func (b *Boxes) Make() (err error) {
	if err := os.MkdirAll(b.dir(), 0o700); err != nil {
		return fmt.Errorf("make the launcher's directory: %w", err)
	}
	b.site, err = keepSite(b.home)
	return err
}

func (b *Boxes) dir() string { return filepath.Join(b.home, "boxes") }

// Path returns the directory of a box.
func (b *Boxes) Path(id string) string { return filepath.Join(b.dir(), id) }

// Keeper returns a box as package keeper uses it.
func (b *Boxes) Keeper(id string) keeper.Box { return keeper.Box{Dir: b.Path(id), Children: b.keepers} }

// isID reports whether a text can be the name of a box. Any other text never becomes part of a path.
func isID(text string) bool {
	_, err := sandbox.ParseSandboxID(text)
	return err == nil
}

// Holds reports whether the sandbox's init holds before it runs the agent.
func (r Record) Holds() bool { return r.Before == "" }

// Read reads the record of a box. It returns sandbox.ErrNotFound if there is no such box.
func (b *Boxes) Read(id string) (Record, error) {
	if !isID(id) {
		return Record{}, fmt.Errorf("%q is not the id of a sandbox: %w", id, sandbox.ErrNotFound)
	}
	text, err := os.ReadFile(filepath.Join(b.Path(id), recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("sandbox %s: %w", id, b.gone())
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	err = json.Unmarshal(text, &r)
	if r.Before != "" {
		r.Sandbox = r.Before
	}
	if err != nil || string(r.Sandbox) != id {
		return Record{Sandbox: sandbox.SandboxID(id)}, fmt.Errorf("%w: the record of sandbox %s is %q", ErrDamaged, id, text[:min(len(text), maxQuoted)])
	}
	return r, nil
}

// Shared returns the shared directories that sandboxes use. known is false if the record of some sandbox does not name
// them.
func (b *Boxes) Shared() (used map[string]bool, known bool, err error) {
	ids, err := b.All()
	used, known = map[string]bool{}, err == nil
	for _, id := range ids {
		r, err := b.Read(id)
		if errors.Is(err, sandbox.ErrNotFound) {
			continue // removed since
		}
		known = known && err == nil && len(r.Shared) > 0
		for _, name := range r.Shared {
			used[name] = true
		}
	}
	return used, known, err
}

// ErrDamaged says that the record of a box makes no sense. This can happen if it was written just before a power
// failure.
var ErrDamaged = errors.New("a sandbox's directory is damaged")

// maxQuoted bounds how much of a damaged record is quoted.
const maxQuoted = 100

// All returns the ids of the finished boxes.
func (b *Boxes) All() (ids []string, err error) {
	entries, err := os.ReadDir(b.dir())
	for _, entry := range entries {
		if isID(entry.Name()) {
			ids = append(ids, entry.Name())
		}
	}
	return ids, err
}

// DropUnfinished removes boxes that were being made or removed when an earlier launcher ended.
func (b *Boxes) DropUnfinished() error {
	entries, err := os.ReadDir(b.dir())
	for _, entry := range entries {
		if !isID(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.dir(), entry.Name())))
		}
	}
	return err
}

// Put writes a box and makes it visible by one rename. bundle is the runtime's configuration, and order is for the
// box's keeper.
func (b *Boxes) Put(r Record, bundle any, order keeper.Order) (err error) {
	id := string(r.Sandbox)
	temp := b.Path(unfinished + id)
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		return fmt.Errorf("make a box: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	err = errors.Join(
		writeJSON(filepath.Join(temp, recordName), r),
		writeJSON(filepath.Join(temp, bundleName), bundle),
		keeper.WriteOrder(temp, order))
	if err != nil {
		return fmt.Errorf("write a box: %w", err)
	}
	if err := os.Rename(temp, b.Path(id)); err != nil {
		return fmt.Errorf("let a box be seen: %w", err)
	}
	return nil
}

// Rewrite replaces the record of a box by one rename.
func (b *Boxes) Rewrite(r Record) error {
	name := filepath.Join(b.Path(string(r.Sandbox)), recordName)
	text, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.Write(name, text, 0o600, atomicfile.Fast)
	}
	if err != nil {
		return fmt.Errorf("write the record of a box: %w", err)
	}
	return nil
}

// Remove makes a box disappear at once, and then removes its files.
func (b *Boxes) Remove(id string) error {
	gone := b.Path(unfinished + "gone-" + id)
	if err := os.RemoveAll(gone); err != nil { // left by an earlier attempt
		return err
	}
	if err := os.Rename(b.Path(id), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}

// Handle returns the handle of the sandbox that a record describes.
func (b *Boxes) Handle(r Record) sandbox.Handle {
	return sandbox.Handle{Launcher: b.launcher, ID: string(r.Sandbox), Site: b.site, Sandbox: r.Sandbox, Slot: r.Slot, Device: r.Device, Inode: r.Inode}
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
