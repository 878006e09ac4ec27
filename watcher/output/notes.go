package output

import (
	"encoding/json"
	"io/fs"
	"os"
)

// Notes are the progress of running children: files in a directory of the host's. They are
// written without a flush: a sandbox does not outlive a power cut either, and a watcher's sudden death takes nothing that
// was written.
type Notes struct{ dir *os.Root } // nil: none are kept

// NewNotes keeps notes in a directory; nil keeps none.
func NewNotes(dir *os.Root) Notes { return Notes{dir} }

// Save writes the progress of a run. Without it a next watcher starts over at the beginning of the launcher's log.
func (n Notes) Save(key string, p Progress) {
	data, err := json.Marshal(p)
	if err == nil && n.dir != nil && n.dir.WriteFile(key+".tmp", data, 0o600) == nil {
		_ = n.dir.Rename(key+".tmp", key)
	}
}

// Load reads the progress of a run, zero where there is none.
func (n Notes) Load(key string) (p Progress) {
	if n.dir == nil {
		return Progress{}
	}
	data, err := n.dir.ReadFile(key)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return Progress{}
	}
	return p
}

// Drop removes what was noted of a run. The next start sweeps what is left.
func (n Notes) Drop(key string) {
	if n.dir != nil {
		_ = n.dir.Remove(key)
	}
}

// Sweep removes the notes of runs that are not wanted.
func (n Notes) Sweep(wanted func(key string) bool) {
	if n.dir == nil {
		return
	}
	entries, err := fs.ReadDir(n.dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if !wanted(e.Name()) {
			n.Drop(e.Name())
		}
	}
}
