package workspace

import (
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/tree"
)

// Floor is the space that must stay free on each file system with workspaces. With the zero Floor they may fill up.
type Floor struct {
	Bytes int64
	Files int64 // inodes, if the file system counts them
}

// Crossed returns an error that explains why there is no room, or nil if enough is free.
func (f Floor) Crossed(s tree.Space) error {
	if !f.crossed(s) {
		return nil
	}
	return errors.New(f.short(s))
}

func (f Floor) crossed(s tree.Space) bool {
	return s.Bytes < f.Bytes || s.Files >= 0 && s.Files < f.Files
}

// Refuse returns the answer to a request for which there is no room. The request does not wait, because nobody knows
// when there will be room, and the client may have something to delete.
func (f Floor) Refuse(s tree.Space) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeDiskFull, Field: "workspace", Text: "There is no room for a run: " + f.short(s),
		Hint: "Delete unneeded files and ask again with a new request_id, or tell the operator.",
	}
}

// short tells what is missing.
func (f Floor) short(s tree.Space) string {
	if s.Bytes < f.Bytes {
		return fmt.Sprintf("the workspace's file system has %s left, and %s must stay free.", showBytes(s.Bytes), showBytes(f.Bytes))
	}
	return fmt.Sprintf("the workspace's file system has %d inodes left, and %d must stay free.", s.Files, f.Files)
}

// showBytes formats a size for people.
func showBytes(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
