package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/atomicfile"
)

// The mark of use lies beside a journal while it is open for writing. SQLite takes a missing log for a log that never
// existed, and would silently forget what it held; the mark records that there is a log.
const (
	markSuffix  = ".open"
	markOpen    = "open\n"
	markClosing = "closing\n" // the log may be gone or not
)

// checkUse refuses a journal that was in use and whose file or log was taken away since.
func checkUse(path string, found bool) error {
	info, err := os.Lstat(path + markSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the journal: %w", err)
	}
	if err := checkFile(path+markSuffix, info); err != nil {
		return err
	}
	mark, err := os.ReadFile(path + markSuffix)
	if err != nil || string(mark) != markOpen {
		return err
	}
	if !found {
		return damaged(path, "is missing, although it was in use when the last watcher was stopped ("+path+markSuffix+" says so)")
	}
	if _, err := os.Lstat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		return damaged(path, "was in use when the last watcher was stopped, and its log "+path+"-wal is missing: the newest runs are not in it")
	}
	return nil
}

// markUse is called when the log is there. A power cut leaves the mark as it was or as it is, never half; and the log's
// name is durable before the mark says that there is a log. Who closes a journal may mark it while another opens it, so each draft has a name of
// its own.
func markUse(path, mark string) error {
	dir := filepath.Dir(path)
	if err := atomicfile.SyncDirectory(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+markSuffix+".") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it has its place by then, or is of no use
	_, err = f.WriteString(mark)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path+markSuffix); err != nil {
		return err
	}
	return atomicfile.SyncDirectory(dir)
}

func unmarkUse(path string) error {
	if err := os.Remove(path + markSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
