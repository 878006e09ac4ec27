// Package planted has defects for the gate to find, each in a package of its own.
package planted

import (
	"os"
	"path/filepath"
	"testing"
)

// First is true in the first run of a test and false in the next ones. PLANTED names the directory in which that is noted.
func First(t *testing.T) bool {
	t.Helper()
	dir := os.Getenv("PLANTED")
	if dir == "" {
		t.Fatal("PLANTED names no directory")
	}
	file, err := os.OpenFile(filepath.Join(dir, t.Name()), os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	return true
}
