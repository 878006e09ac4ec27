// Package programs finds the programs that Torno brings along: sandbox-init, which is process 1 of every sandbox, and
// sandbox-keeper, which stays beside some of them. Only root, the watcher's user and the owner of the watcher's program
// can exchange a program that it returns.
//
//	init, err := programs.Find("sandbox-init", config.Init)
package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"torno/internal/trust"
)

// MissingError means that one of our own programs is missing or cannot be run.
type MissingError struct {
	Name  string
	Where string // where Find looked for it
	Err   error
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no %s to be run %s: %v", e.Name, e.Where, e.Err)
}

func (e *MissingError) Unwrap() error { return e.Err }

// Find returns the path of one of our own programs. It looks where the configuration says, or else beside the running
// program, or else in PATH. Only the first program that it finds counts. If another user could exchange that program,
// Find returns an error and does not look further.
func Find(name, configured string) (string, error) {
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
		return "", &MissingError{name, "beside this program or in PATH", missing}
	}
	return heldProgram(name, found, "in PATH", own)
}

// heldProgram returns the path of a program, without links, if only trusted users can exchange it.
func heldProgram(name, path, where, own string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", &MissingError{name, where, err}
	}
	real, err := trust.Programs(own).Follow(absolute)
	if err == nil {
		err = program(real)
	}
	if err != nil {
		return "", &MissingError{name, where, err}
	}
	return real, nil
}

// program makes sure that a file can be executed.
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
