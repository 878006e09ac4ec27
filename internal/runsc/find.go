package runsc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"torno/internal/trust"
)

const name = "runsc"

// Program is a runsc that no other user can exchange. Find returns one.
type Program struct {
	Path  string // absolute, and without links
	Where string // how it was found: "named by the configuration", "beside this program", "in PATH"

	patience time.Duration // how long to wait for an answer; 0 means answerTime
}

// Find finds the program: where the configuration says, or else beside our own program, or else in PATH. Only the first
// one that exists counts: if it may not be used, Find returns an error and does not look further.
func Find(configured string) (Program, error) {
	if runtime.GOOS != "linux" {
		return Program{}, &Error{Reason: NeedsLinux, What: fmt.Sprintf("gVisor works on Linux only, and this is %s", runtime.GOOS)}
	}
	own, err := os.Executable()
	if err != nil {
		return Program{}, &Error{Reason: Missing, What: "our own program, beside which runsc would be, cannot be found", Err: err}
	}
	return find(configured, own)
}

func find(configured, own string) (Program, error) {
	if configured != "" {
		return trusted(configured, "named by the configuration", own)
	}
	beside := filepath.Join(filepath.Dir(own), name)
	if _, err := os.Lstat(beside); !errors.Is(err, fs.ErrNotExist) {
		return trusted(beside, "beside this program", own)
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return Program{}, &Error{Reason: Missing, What: fmt.Sprintf("there is no %s beside this program (%s) or in PATH", name, filepath.Dir(own))}
	}
	return trusted(found, "in PATH", own)
}

// trusted follows the path to its target and checks it. The target is the program's path from now on.
func trusted(path, where, own string) (Program, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Program{}, &Error{Reason: Missing, Path: path, What: "(" + where + ") cannot be found", Err: err}
	}
	real, err := trust.Programs(own).Follow(absolute)
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return Program{}, &Error{Reason: Unsafe, Path: loose.Path, What: loose.What}
	}
	if err != nil {
		return Program{}, &Error{Reason: Missing, Path: path, What: "(" + where + ") cannot be looked at", Err: reason(err)}
	}
	if err := executable(real); err != nil {
		return Program{}, err
	}
	return Program{Path: real, Where: where}, nil
}

// executable refuses plain mistakes: a directory, a special file, a file that cannot be executed.
func executable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return &Error{Reason: Missing, Path: path, What: "cannot be looked at", Err: reason(err)}
	case !info.Mode().IsRegular():
		return &Error{Reason: Missing, Path: path, What: "is not a program but " + kind(info.Mode())}
	case info.Mode().Perm()&0o111 == 0:
		return &Error{Reason: Missing, Path: path, What: "is not executable"}
	}
	return nil
}

func kind(mode fs.FileMode) string {
	if mode.IsDir() {
		return "a directory"
	}
	return "a special file"
}

// reason returns an error without the path, because the sentence names the path already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
