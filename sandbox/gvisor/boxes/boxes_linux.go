package boxes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/lay"
)

// Record is what a box says of itself, for the launcher that finds it.
type Record struct {
	Sandbox sandbox.SandboxID `json:"sandbox"`
	// Before is what the first version had in Sandbox's place. Its init did not hold.
	Before  sandbox.SandboxID `json:"run,omitempty"`
	Slot    int               `json:"slot"`
	Profile string            `json:"profile"`
	Made    time.Time         `json:"made"`
	Image   string            `json:"image,omitempty"` // the digest of its image
	Device  uint64            `json:"device"`          // of the workspace
	Inode   uint64            `json:"inode"`
	Stdin   bool              `json:"stdin,omitempty"`
	// Wanted and Limits are what the finished sandbox is compared with.
	Wanted []attest.Want  `json:"wanted,omitempty"`
	Limits sandbox.Limits `json:"limits"`
	// Shared are the directories of the launcher's, beside the boxes, that lie in the sandbox. Earlier versions did not note them.
	Shared []string `json:"shared,omitempty"`
	// Views are what lies in the slot's views.
	Views lay.Views `json:"views"`
	// Ahead says that it was made ahead of a run, which has not come yet.
	Ahead bool `json:"ahead,omitempty"`
}

const (
	recordName = "box.json"
	bundleName = "config.json"
	// unfinished is before the name of a box that is being made or removed.
	unfinished = "."
)

// Boxes are all boxes of a launcher.
type Boxes struct {
	home     string // the launcher's directory
	launcher string // its name, for handles
	keepers  *keeper.Children
	site     string // whose they are; "" where that is not known
}

// In are the boxes in a launcher's directory. Nothing is made, and whose they are is not known yet.
func In(home, launcher string) *Boxes {
	return &Boxes{home: home, launcher: launcher, keepers: new(keeper.Children)}
}

// Make makes the directory of the boxes, and gives the launcher's an id where it has none.
func (b *Boxes) Make() (err error) {
	if err := os.MkdirAll(b.dir(), 0o700); err != nil {
		return fmt.Errorf("make the launcher's directory: %w", err)
	}
	b.site, err = keepSite(b.home)
	return err
}

func (b *Boxes) dir() string { return filepath.Join(b.home, "boxes") }

// Path is where a box lies.
func (b *Boxes) Path(id string) string { return filepath.Join(b.dir(), id) }

// Keeper is a box as its keeper has it.
func (b *Boxes) Keeper(id string) keeper.Box { return keeper.Box{Dir: b.Path(id), Children: b.keepers} }

// isID says whether a text is the name that a box can have: anything else never becomes part of a path.
func isID(text string) bool {
	_, err := sandbox.ParseSandboxID(text)
	return err == nil
}

// Holds says whether the sandbox's init holds before it runs the agent.
func (r Record) Holds() bool { return r.Before == "" }

// Read reads the record of a box; sandbox.ErrNotFound where there is none.
func (b *Boxes) Read(id string) (Record, error) {
	if !isID(id) {
		return Record{}, fmt.Errorf("%q is no sandbox's id: %w", id, sandbox.ErrNotFound)
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

// Shared are the directories that sandboxes have in them, or known is false: there is a sandbox that does not say.
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

// ErrDamaged says that a box does not say what it is, as one may that was written just before the power failed.
var ErrDamaged = errors.New("a sandbox's directory is damaged")

// maxQuoted is what is quoted of a record that makes no sense.
const maxQuoted = 100

// All are the ids of the finished boxes.
func (b *Boxes) All() (ids []string, err error) {
	entries, err := os.ReadDir(b.dir())
	for _, entry := range entries {
		if isID(entry.Name()) {
			ids = append(ids, entry.Name())
		}
	}
	return ids, err
}

// DropUnfinished removes what was being made or removed when an earlier launcher ended.
func (b *Boxes) DropUnfinished() error {
	entries, err := os.ReadDir(b.dir())
	for _, entry := range entries {
		if !isID(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.dir(), entry.Name())))
		}
	}
	return err
}

// Put writes a box and lets it be seen, by one rename. The bundle is the runtime's configuration, and the order its keeper's.
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

// Rewrite writes another record of a box, by one rename.
func (b *Boxes) Rewrite(r Record) error {
	name := filepath.Join(b.Path(string(r.Sandbox)), recordName)
	if err := writeJSON(name+".new", r); err != nil {
		return fmt.Errorf("write the record of a box: %w", err)
	}
	return os.Rename(name+".new", name)
}

// Remove takes a box away at once, and its files after that.
func (b *Boxes) Remove(id string) error {
	gone := b.Path(unfinished + "gone-" + id)
	if err := os.RemoveAll(gone); err != nil { // of an earlier try
		return err
	}
	if err := os.Rename(b.Path(id), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}

// Handle refers to the sandbox of a record.
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
