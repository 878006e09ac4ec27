package serve

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const initName = "sandbox-init"

// NoInitError says that there is no sandbox-init, or that it cannot be run.
type NoInitError struct {
	Where string // where it was looked for
	Err   error
}

func (e *NoInitError) Error() string {
	return fmt.Sprintf("there is no %s to be run %s: %v", initName, e.Where, e.Err)
}

func (e *NoInitError) Unwrap() error { return e.Err }

// FindInit finds the program that is process 1 of every sandbox: where the configuration says, or else beside our own
// program, or else in PATH.
func FindInit(configured string) (string, error) {
	if configured != "" {
		if err := program(configured); err != nil {
			return "", &NoInitError{"where the configuration says", err}
		}
		return configured, nil
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(own), initName)
	missing := program(beside)
	if missing == nil {
		return beside, nil
	}
	found, err := exec.LookPath(initName)
	if err != nil {
		return "", &NoInitError{"beside this program or in PATH", missing}
	}
	return filepath.Abs(found)
}

// program makes sure that a file can be run.
func program(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return &fs.PathError{Op: "run", Path: path, Err: fs.ErrPermission}
	}
	return nil
}
