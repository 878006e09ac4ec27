// Package atomicfile writes a whole file into a directory that only the host writes. Neither a kill nor a power cut
// leaves half a file, or a name without its content.
//
//	if err := atomicfile.Write(filepath.Join(state, "calendar"), text, 0o600); err != nil {
//
// Two callers must not write the same path at the same time, because the draft beside it always has the same name,
// PATH.new. If a killed writer left a draft, the next writer writes it anew. Other code writes files that a stranger
// can reach: delegation.Dir writes an outbox, and package patch writes a parent's files.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// DraftSuffix ends the name of a draft.
const DraftSuffix = ".new"

// Write replaces the file at path. It returns after the content and the name are on the disk.
func Write(path string, content []byte, mode fs.FileMode) error {
	draft, err := os.OpenFile(path+DraftSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = draft.Chmod(mode) // before the content, because all users may be able to read an old draft
	if err == nil {
		_, err = draft.Write(content)
	}
	err = errors.Join(err, draft.Sync(), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return SyncDirectory(filepath.Dir(path))
}

// SyncDirectory writes the names in a directory to the disk.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
