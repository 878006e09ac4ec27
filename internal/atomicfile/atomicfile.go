// Package atomicfile writes a whole file into a directory that the host alone writes, so that neither a kill nor a power cut leaves half of it,
// or a name without its content.
//
//	if err := atomicfile.Write(filepath.Join(state, "calendar"), text, 0o600); err != nil {
//
// Callers write one path one at a time: the draft beside it, PATH.new, has no other name. A draft that a killed writer left is written anew.
// Files that a stranger can reach are written otherwise: an outbox by delegation.Dir, a parent's files by package patch.
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

// Write replaces the file at path and returns when content and name are on the disk.
func Write(path string, content []byte, mode fs.FileMode) error {
	draft, err := os.OpenFile(path+DraftSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = draft.Chmod(mode) // before the content: an older draft may be open to all
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

// SyncDirectory puts the names of a directory on the disk.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
