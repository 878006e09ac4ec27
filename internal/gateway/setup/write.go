package setup

import (
	"path/filepath"

	"torno/internal/atomicfile"
)

// FileName is the name, in a gateway's state directory, of the file that holds the watcher's most recent setup.
const FileName = "setup.yaml"

// Write writes a text to that file.
func Write(dir string, text []byte) error {
	return atomicfile.Write(filepath.Join(dir, FileName), text, 0o600, atomicfile.Durable)
}
