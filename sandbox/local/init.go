package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"torno/internal/runfile"
	"torno/sandbox/local/hostroot"
)

// StoreInit copies sandbox-init into a directory beneath dir and returns this directory. The directory is named after
// the program's content and holds nothing else. The program arrives complete, by rename. Sandboxes of an earlier
// watcher may still run another version, which has its own directory.
func StoreInit(program, dir string) (string, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("read sandbox-init (build it with make, or name it with --init): %w", err)
	}
	sum := sha256.Sum256(content)
	stored := filepath.Join(dir, "init-"+hex.EncodeToString(sum[:8]))
	if err := hostroot.MakeDir(stored); err != nil {
		return "", err
	}
	target := filepath.Join(stored, path.Base(runfile.Init))
	if there, err := os.ReadFile(target); err == nil && bytes.Equal(there, content) {
		return stored, os.Chmod(target, programMode)
	}
	if err := writeProgram(dir, target, content); err != nil {
		return "", fmt.Errorf("put sandbox-init into %s: %w", stored, err)
	}
	return stored, nil
}

const programMode = 0o555

// writeProgram writes a temporary file in the directory temp and renames it to target. It first removes the temporary
// file of a start that was killed.
func writeProgram(temp, target string, content []byte) error {
	next := filepath.Join(temp, ".init-next")
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(next) // does nothing after the rename
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(programMode), file.Close()); err != nil {
		return err
	}
	return os.Rename(next, target)
}
