package house

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
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

// TouchAged makes an empty file in the outbox that claims to be so old; below 0 its time lies ahead.
func (h *House) TouchAged(name string, age time.Duration) { h.Helper(); h.put(name, nil, age) }

// put has a file be in the outbox all at once, and returns when.
func (h *House) put(name string, data []byte, age time.Duration) time.Time {
	h.Helper()
	temp := h.Path("new-" + name) // nothing that a watcher reads
	h.Must(os.WriteFile(temp, data, 0o644))
	if age != 0 {
		h.Must(os.Chtimes(temp, time.Time{}, time.Now().Add(-age)))
	}
	renamed := time.Now()
	h.Must(os.Rename(temp, h.Path(name)))
	return renamed
}

// Read is the content of a file.
func (h *House) Read(path string) string {
	h.Helper()
	data, err := os.ReadFile(path)
	h.Must(err)
	return string(data)
}
