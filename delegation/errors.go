package delegation

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Dir refuses entries with these errors and wraps them with the name of the entry. For a missing entry the error is
// fs.ErrNotExist.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrLinked     = errors.New("has more than one name (hard links)")
	ErrTooBig     = errors.New("over the size limit")
	ErrChanged    = errors.New("is being written")
	ErrMoved      = errors.New("is no longer the directory at its path")
	ErrBadName    = errors.New("not the name of a file in an outbox")
	ErrDirectory  = errors.New("a directory is in the place of the file")
)

// RefuseEntry turns Read's error for a request's entry into the refusal to respond with. It returns nil if the entry is
// not to blame, or if the entry may be whole at the next look, for instance because somebody is still writing it.
func RefuseEntry(name string, err error) *Refusal {
	if errors.Is(err, fs.ErrPermission) {
		return &Refusal{
			Code: CodeUnparsable, Text: fmt.Sprintf("Failed to parse request: the watcher may not read %.100q", name),
			Hint: "give the file mode 0644 before it gets its name",
		}
	}
	var entry *entryError
	if !errors.As(err, &entry) {
		return nil
	}
	refusal := invalid(CodeNotAFile, "", fmt.Sprintf("%.100q: %v", name, entry),
		"write the request into a new file and rename that into the outbox")
	if errors.Is(entry, ErrTooBig) {
		refusal.Code = CodeTooBig
		refusal.Hint = "limits.request_bytes in watcher.json is the most; put large material into a file of the workspace"
	}
	return refusal
}

// entryError is an error of an entry that stays unacceptable however often somebody looks at it.
type entryError struct {
	what   error
	detail string
}

func (e *entryError) Error() string { return e.what.Error() + e.detail }

func (e *entryError) Unwrap() error { return e.what }

// acceptable returns an error if the entry must not be opened at all.
func acceptable(s Stamp, max int64) error {
	switch {
	case !s.Mode.IsRegular():
		return &entryError{ErrNotRegular, " but " + typeOf(s.Mode)}
	case s.Links > 1:
		return &entryError{ErrLinked, ""}
	case s.Size > max:
		return tooBig(s.Size, max)
	}
	return nil
}

func tooBig(size, max int64) error {
	return &entryError{ErrTooBig, fmt.Sprintf(": %d bytes or more, at most %d are allowed", size, max)}
}

func typeOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// checkName accepts the name of one entry. The name must not be empty, "." or "..", must not be too long, and must not
// contain a slash or a NUL.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.300q: %w", name, ErrBadName)
	}
	return nil
}
