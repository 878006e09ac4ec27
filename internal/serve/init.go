package serve

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const initName = "sandbox-init"

// NoProgramError says that one of our own programs is not there, or cannot be run.
type NoProgramError struct {
	Name  string
	Where string // where it was looked for
	Err   error
}

func (e *NoProgramError) Error() string {
	return fmt.Sprintf("there is no %s to be run %s: %v", e.Name, e.Where, e.Err)
}

func (e *NoProgramError) Unwrap() error { return e.Err }

// FindInit finds the program that is process 1 of every sandbox: where the configuration says, or else beside our own
// program, or else in PATH.
func FindInit(configured string) (string, error) { return findProgram(initName, configured) }

func findProgram(name, configured string) (string, error) {
	if configured != "" {
		if err := program(configured); err != nil {
			return "", &NoProgramError{name, "where the configuration says", err}
		}
		return configured, nil
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(own), name)
	missing := program(beside)
	if missing == nil {
		return beside, nil
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", &NoProgramError{name, "beside this program or in PATH", missing}
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
