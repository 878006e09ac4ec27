package delegation

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// The modes of published files. A file that was given to the outbox's owner may be read by that owner and group; if it
// could not be given away, all users may read it.
const (
	modeGiven fs.FileMode = 0o640
	modeKept  fs.FileMode = 0o644
)

// Publish makes data appear under name, whole or not at all, and gives the file to the outbox's owner. It replaces any
// entry of that name, even a planted link, and follows no link. Only a directory under that name stops it; the error is
// then ErrDirectory.
//
// Publish writes the file under a new random name and then renames it. It does not flush the file to the disk first:
// after a power cut neither side is alive, and whatever must survive a power cut is in the watcher's journal.
func (d *Dir) Publish(name string, data []byte) (err error) {
	if err := checkName(name); err != nil {
		return fmt.Errorf("publish %w", err)
	}
	temp, err := renameio.NewPendingFile(tempPrefix[1:], renameio.WithRoot(d.root), renameio.WithPermissions(0o600))
	if err != nil {
		return fmt.Errorf("publish %q: %w", name, err)
	}
	defer func() {
		if err != nil {
			temp.Cleanup()
		}
	}()
	if err := d.fill(temp.File, data); err != nil {
		return fmt.Errorf("publish %q: %w", name, err)
	}
	// Rename here, because the last step of renameio would also flush; see above.
	if err := d.root.Rename(filepath.Base(temp.Name()), name); err != nil {
		if d.isDirectory(name) {
			err = ErrDirectory
		}
		return fmt.Errorf("publish %q: %w", name, err)
	}
	return nil
}

// fill writes the temporary file, gives it away through its handle and closes it.
func (d *Dir) fill(temp *os.File, data []byte) error {
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := d.give(temp); err != nil {
		return err
	}
	d.noteClock(temp)
	return temp.Close()
}

// give hands the file to the outbox's owner. It sets the mode first, because it cannot do so once the file is theirs.
func (d *Dir) give(temp *os.File) error {
	if err := temp.Chmod(modeGiven); err != nil {
		return err
	}
	if temp.Chown(int(d.uid), int(d.gid)) == nil {
		return nil
	}
	return temp.Chmod(modeKept)
}
