package serve

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const initName = "sandbox-init"

// NoInitError says that there is no sandbox-init, or not where the configuration says.
type NoInitError struct{ Err error }

func (e *NoInitError) Error() string { return fmt.Sprintf("there is no %s: %v", initName, e.Err) }

func (e *NoInitError) Unwrap() error { return e.Err }

// FindInit finds the program that is process 1 of every sandbox: where the configuration says, or else beside our own
// program, or else in PATH.
func FindInit(configured string) (string, error) {
	if configured != "" {
		return configured, program(configured)
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(own), initName)
	besideErr := program(beside)
	if besideErr == nil {
		return beside, nil
	}
	found, err := exec.LookPath(initName)
	if err != nil {
		return "", &NoInitError{fmt.Errorf("%w, and %w", besideErr, err)}
	}
	return filepath.Abs(found)
}

// program makes sure that a file can be run.
func program(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return &NoInitError{err}
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return &NoInitError{&fs.PathError{Op: "run", Path: path, Err: fs.ErrPermission}}
	}
	return nil
}
