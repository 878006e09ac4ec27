package house

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Must ends the test on an error.
func (h *House) Must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// Mkdir makes a directory with all above it, and returns its path. In the house they are its user's.
func (h *House) Mkdir(dir string) string {
	h.Helper()
	h.Must(os.MkdirAll(dir, 0o755))
	for at := dir; strings.HasPrefix(at, h.Dir+"/"); at = filepath.Dir(at) {
		h.own(at)
	}
	return dir
}

// Path is a place in the outbox.
func (h *House) Path(name string) string { return filepath.Join(h.Outbox, name) }

// Exists says whether the outbox has an entry, of any kind.
func (h *House) Exists(name string) bool {
	_, err := os.Lstat(h.Path(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// Touch makes an empty file in the outbox.
func (h *House) Touch(name string) {
	h.Helper()
	h.Must(os.WriteFile(h.Path(name), nil, 0o644))
}

// Read is the content of a file.
func (h *House) Read(path string) string {
	h.Helper()
	data, err := os.ReadFile(path)
	h.Must(err)
	return string(data)
}
