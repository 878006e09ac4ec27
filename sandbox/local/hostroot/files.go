package hostroot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MakeDir makes a directory that a sandbox can look into, whatever our umask is.
func MakeDir(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make a directory for sandboxes: %w", err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return fmt.Errorf("open a directory to sandboxes: %w", err)
	}
	return nil
}

// WriteFile writes a new file that the user of every sandbox can read, whatever our umask is.
func WriteFile(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return fmt.Errorf("write a file for the sandbox: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(0o444), file.Close()); err != nil {
		return fmt.Errorf("write %s for the sandbox: %w", filepath.Base(path), err)
	}
	return nil
}
