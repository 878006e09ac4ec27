package output

import (
	"encoding/json"
	"io/fs"
	"os"

	"torno/internal/atomicfile"
)

// Notes keeps the progress of running children, in files in a directory of the host. The files are written without a
// flush: a sandbox does not outlive a power cut either, and a watcher that dies suddenly loses nothing that was
// written.
type Notes struct{ dir *os.Root } // nil: no notes are kept

// NewNotes returns Notes that are kept in a directory. With nil none are kept.
func NewNotes(dir *os.Root) Notes { return Notes{dir} }

// Save writes the progress of a run. Without it the next watcher starts over at the beginning of the launcher's log.
func (n Notes) Save(key string, p Progress) {
	data, err := json.Marshal(p)
	if err == nil && n.dir != nil {
		_ = atomicfile.WriteIn(n.dir, key, data, atomicfile.Fast)
	}
}

// Load reads the progress of a run. It is zero if there is none.
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

// Drop removes the note of a run. If that fails, the next start sweeps the note.
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
