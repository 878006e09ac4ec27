package setup

import (
	"path/filepath"

	"torno/internal/atomicfile"
)

// FileName is the file, in the state directory of a gateway, of what a watcher said last.
const FileName = "setup.yaml"

// Write puts a text into that file.
func Write(dir string, text []byte) error {
	return atomicfile.Write(filepath.Join(dir, FileName), text, 0o600)
}
