package delegation

import (
	"errors"
	"fmt"
	"strings"
)

// What Dir refuses. Each comes wrapped with the name of the entry; a missing one is fs.ErrNotExist.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrLinked     = errors.New("the file has more than one name (hard links)")
	ErrTooBig     = errors.New("over the size limit")
	ErrChanged    = errors.New("the file is being written")
	ErrMoved      = errors.New("the outbox is no longer the directory at its path")
	ErrBadName    = errors.New("not the name of a file in an outbox")
	ErrDirectory  = errors.New("a directory is in the place of the file")
)

// RefuseEntry turns what Read says of an entry into the refusal that answers it. It returns nil where the entry is not
// to blame or may be whole at the next look: when it is missing, is being written or cannot be read.
func RefuseEntry(name string, err error) *Refusal {
	switch {
	case errors.Is(err, ErrNotRegular):
		return &Refusal{
			Code: CodeNotAFile,
			Text: fmt.Sprintf("Invalid request: %.100q is not a regular file", name),
			Hint: "write the request into a new file and rename that into the outbox",
		}
	case errors.Is(err, ErrLinked):
		return &Refusal{
			Code: CodeNotAFile,
			Text: fmt.Sprintf("Invalid request: %.100q has more than one name (hard links)", name),
			Hint: "write the request into a new file and rename that into the outbox",
		}
	case errors.Is(err, ErrTooBig):
		return &Refusal{
			Code: CodeTooBig,
			Text: fmt.Sprintf("Invalid request: %.100q is over the size limit", name),
			Hint: "see limits.request_bytes in watcher.json; put large material into a file of the workspace",
		}
	}
	return nil
}

// checkName accepts the name of one entry: it is not empty, not a dot or two, fits and has no slash and no NUL.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.300q: %w", name, ErrBadName)
	}
	return nil
}
