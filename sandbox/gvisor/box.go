//go:build linux

package gvisor

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

// record is what a box says of itself, for whoever finds it.
type record struct {
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
	// Views are what lies in the slot's views.
	Views lay.Views `json:"views"`
}

const (
	recordName = "box.json"
	bundleName = "config.json"
	// unfinished is before the name of a box that is being made or removed.
	unfinished = "."
)

// boxes are all boxes of an installation.
type boxes struct {
	dir     string
	keepers *keeper.Children
	site    string // whose they are; "" where that is not known
}

func (b boxes) path(id string) string { return filepath.Join(b.dir, id) }

func (b boxes) keeper(id string) keeper.Box { return keeper.Box{Dir: b.path(id), Children: b.keepers} }

// isID says whether a text is the name that a box can have: anything else never becomes part of a path.
func isID(text string) bool {
	_, err := sandbox.ParseSandboxID(text)
	return err == nil
}

// holds says whether the sandbox's init holds before it runs the agent.
func (r record) holds() bool { return r.Before == "" }

// read reads the record of a box; sandbox.ErrNotFound where there is none.
func (b boxes) read(id string) (record, error) {
	if !isID(id) {
		return record{}, fmt.Errorf("%q is no sandbox's id: %w", id, sandbox.ErrNotFound)
	}
	text, err := os.ReadFile(filepath.Join(b.path(id), recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, fmt.Errorf("sandbox %s: %w", id, b.gone())
	}
	if err != nil {
		return record{}, err
	}
	var r record
	err = json.Unmarshal(text, &r)
	if r.Before != "" {
		r.Sandbox = r.Before
	}
	if err != nil || string(r.Sandbox) != id {
		return record{Sandbox: sandbox.SandboxID(id)}, fmt.Errorf("%w: the record of sandbox %s is %q", errDamaged, id, text[:min(len(text), maxQuoted)])
	}
	return r, nil
}

// errDamaged says that a box does not say what it is, as one may that was written just before the power failed.
var errDamaged = errors.New("a sandbox's directory is damaged")

// maxQuoted is what is quoted of a record that makes no sense.
const maxQuoted = 100

// all are the ids of the finished boxes, and the names of the unfinished ones.
func (b boxes) all() (ids, rest []string, err error) {
	entries, err := os.ReadDir(b.dir)
	for _, entry := range entries {
		if isID(entry.Name()) {
			ids = append(ids, entry.Name())
		} else {
			rest = append(rest, entry.Name())
		}
	}
	return ids, rest, err
}

// remove takes a box away at once, and its files after that.
func (b boxes) remove(id string) error {
	gone := b.path(unfinished + "gone-" + id)
	if err := os.RemoveAll(gone); err != nil { // of an earlier try
		return err
	}
	if err := os.Rename(b.path(id), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}

func (b boxes) handle(r record) sandbox.Handle {
	return sandbox.Handle{Launcher: Name, ID: string(r.Sandbox), Site: b.site, Sandbox: r.Sandbox, Slot: r.Slot, Device: r.Device, Inode: r.Inode}
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
