package delegation

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Grain is how far apart two changes of a file must lie to get different stamps, on every file system: kernels stamp by
// their tick, which is up to 10 ms long, and some file systems keep no more than every second second.
const Grain = 2 * time.Second

// Reading is what the host knows of a request's file since it last read it. The content says which request it is. The stamp
// is a cache: it saves reading the file again.
type Reading struct {
	Stamp Stamp
	// Content is the SHA-256 of the bytes. For an entry that is never opened, such as a link, it is a hash of the refusal:
	// entries that are refused alike may share an answer. It is "" where an earlier version read the file.
	Content string
	// Firm says that the stamp was older than Grain when the file was read, so that each later change gives the file another
	// stamp. A younger one may be that of another file, or of other content, as well.
	Firm bool
}

// Unchanged says that a file still holds what was read, as far as its stamp alone can tell. Otherwise only its content tells.
func (r Reading) Unchanged(now Stamp) bool {
	return (r.Firm || r.Content == "") && r.Stamp.SameFile(now)
}

// Same says that two readings saw the same stamp and the same content.
func (r Reading) Same(other Reading) bool {
	return r.Content != "" && r.Content == other.Content && r.Stamp.SameFile(other.Stamp)
}

// SameFile compares what a journal keeps of a stamp: of a time its nanoseconds, as 64 bits hold them, which for a year after
// 2262 are not the time any more. A writer can set ModTime, but not ChangeTime.
func (s Stamp) SameFile(other Stamp) bool {
	return s.Ino == other.Ino && s.Size == other.Size &&
		s.ModTime.UnixNano() == other.ModTime.UnixNano() && s.ChangeTime.UnixNano() == other.ChangeTime.UnixNano()
}

// ReadRequest reads an entry as Read does and says what is to be remembered of it. The reading has no content when err says
// that the entry may be whole, or readable, at the next look.
func (d *Dir) ReadRequest(name string, max int64) ([]byte, Reading, error) {
	began := time.Now()
	data, stamp, err := d.Read(name, max)
	reading := Reading{Stamp: stamp, Firm: d.firm(stamp, began)}
	if err == nil {
		reading.Content = contentOf(data)
	} else if refusal := RefuseEntry(name, err); refusal != nil {
		reading.Content = contentOf([]byte("refused " + string(refusal.Code) + " " + refusal.Text))
	}
	return data, reading, err
}

// StillHolds says whether the request that was read under a name is still there. Its content decides: the same request may lie
// in another file by now, and another request in a file with the same stamp. The file is read only where its stamp does not tell.
func (d *Dir) StillHolds(name string, read Reading, max int64) (bool, error) {
	now, err := d.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whether %s is still there: %w", QuoteName(name), err)
	case read.Unchanged(now):
		return true, nil
	case read.Content == "": // an earlier version read it, and noted its stamp alone
		return false, nil
	}
	_, again, err := d.ReadRequest(name, max)
	switch {
	case again.Content != "":
		return again.Content == read.Content, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("look whether %s is still there: %w", QuoteName(name), err)
}

func contentOf(data []byte) string {
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// firm says whether a stamp was older than Grain at some time. Only the time of the last change counts, which no writer can
// set, and the clock of the file system, which may be another machine's. A time that lies ahead of that clock is never old.
func (d *Dir) firm(s Stamp, at time.Time) bool {
	behind, known := d.clock.behind()
	return known && at.Sub(s.ChangeTime)-behind >= Grain
}

// noteClock compares the clock of the file system with ours, by a file of ours that was changed just now.
func (d *Dir) noteClock(changed *os.File) {
	var st unix.Stat_t
	if unix.Fstat(int(changed.Fd()), &st) == nil {
		d.clock.note(time.Since(stampOf(&st).ChangeTime))
	}
}
