package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"torno/internal/trust"
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
// program, or else in PATH. What is found first is it: a program that another user could exchange is an error, and no other
// is taken instead.
func FindInit(configured string) (string, error) { return findProgram(initName, configured) }

func findProgram(name, configured string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	if configured != "" {
		return heldProgram(name, configured, "where the configuration says", own)
	}
	beside := filepath.Join(filepath.Dir(own), name)
	_, missing := os.Lstat(beside)
	if !errors.Is(missing, fs.ErrNotExist) {
		return heldProgram(name, beside, "beside this program", own)
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", &NoProgramError{name, "beside this program or in PATH", missing}
	}
	return heldProgram(name, found, "in PATH", own)
}

// heldProgram is the path of a program, without links, that only trusted users can exchange.
func heldProgram(name, path, where, own string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", &NoProgramError{name, where, err}
	}
	real, err := filepath.EvalSymlinks(absolute)
	if err == nil {
		err = program(real)
	}
	if err == nil {
		err = trust.Programs(own).Check(real)
	}
	if err != nil {
		return "", &NoProgramError{name, where, err}
	}
	return real, nil
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
