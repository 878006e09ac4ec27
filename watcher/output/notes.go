package output

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
)

// Notes are the progress of running children, and why they are being ended: files in a directory of the host's. They are
// written without a flush: a sandbox does not outlive a power cut either, and a watcher's sudden death takes nothing that
// was written.
type Notes struct{ dir *os.Root } // nil: none are kept

// NewNotes keeps notes in a directory; nil keeps none.
func NewNotes(dir *os.Root) Notes { return Notes{dir} }

// Save writes the progress of a run. Without it a next watcher starts over at the beginning of the launcher's log.
func (n Notes) Save(key string, p Progress) {
	if data, err := json.Marshal(p); err == nil {
		n.write(key, data)
	}
}

// write writes a note. Failure costs little: a position in a stream that can be read again, or the reason to end a run.
func (n Notes) write(name string, data []byte) {
	if n.dir != nil && n.dir.WriteFile(name+".tmp", data, 0o600) == nil {
		_ = n.dir.Rename(name+".tmp", name)
	}
}

// Load reads the progress of a run, zero where there is none.
func (n Notes) Load(key string) (p Progress) {
	if json.Unmarshal(n.read(key), &p) != nil {
		return Progress{}
	}
	return p
}

// read returns a note, nil where there is none.
func (n Notes) read(name string) []byte {
	if n.dir == nil {
		return nil
	}
	data, err := n.dir.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}

// endingSuffix follows the run's key in the name of the note with the reason for its end.
const endingSuffix = ".ending"

// WriteEnding notes why a run is being ended.
func (n Notes) WriteEnding(key string, data []byte) { n.write(key+endingSuffix, data) }

// ReadEnding is what was noted of that, nil where nothing was.
func (n Notes) ReadEnding(key string) []byte { return n.read(key + endingSuffix) }

// Drop removes what was noted of a run. The next start sweeps what is left.
func (n Notes) Drop(key string) {
	if n.dir != nil {
		_ = n.dir.Remove(key)
		_ = n.dir.Remove(key + endingSuffix)
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
		if !wanted(strings.TrimSuffix(e.Name(), endingSuffix)) {
			n.Drop(e.Name())
		}
	}
}
