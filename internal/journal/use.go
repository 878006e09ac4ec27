package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/atomicfile"
)

// The mark of use lies beside a journal while it is open for writing. If the log is missing, SQLite believes that there
// never was one, and silently forgets its contents. The mark records that there is a log.
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

// markUse writes the mark of use. It is called when the log exists. After a power cut the mark is the old or the new
// one, never half; and the log's name is durable before the mark says that there is a log. One process may mark the
// journal at its closing while another opens it, so each draft of the mark has its own name.
func markUse(path, mark string) error {
	dir := filepath.Dir(path)
	if err := atomicfile.SyncDirectory(dir); err != nil {
		return err
	}
	draft, err := atomicfile.Begin(dir)
	if err != nil {
		return err
	}
	_, err = draft.WriteString(mark)
	if err == nil {
		err = draft.Put(filepath.Base(path)+markSuffix, atomicfile.Durable)
	}
	return errors.Join(err, draft.Drop())
}

func unmarkUse(path string) error {
	if err := os.Remove(path + markSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
