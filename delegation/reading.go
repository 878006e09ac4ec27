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

// Grain is the time that must lie between two changes of a file so that they get different stamps on every file system.
// Kernels stamp by their tick, which is up to 10 ms long, and some file systems keep only every second second.
const Grain = 2 * time.Second

// Reading is the host's memory of a request's file since it last read it. The content says which request it is. The
// stamp is only a cache: it saves reading the file again.
type Reading struct {
	Stamp Stamp
	// Content is the SHA-256 of the bytes. If the entry is never opened, for instance a link, it is a hash of the
	// refusal, so entries that are refused alike may share an answer. It is "" if an earlier version read the file.
	Content string
	// Firm means that the stamp was older than Grain when the file was read, so each later change gives the file
	// another stamp. A younger stamp may also fit another file or other content.
	Firm bool
}

// Unchanged reports whether the stamp alone proves that the file still has the content that was read. If not, only the
// content can tell.
func (r Reading) Unchanged(now Stamp) bool {
	return (r.Firm || r.Content == "") && r.Stamp.SameFile(now)
}

// Same reports whether two readings saw the same stamp and the same content.
func (r Reading) Same(other Reading) bool {
	return r.Content != "" && r.Content == other.Content && r.Stamp.SameFile(other.Stamp)
}

// SameFile compares the parts of a stamp that a journal keeps. It keeps a time as nanoseconds in 64 bits, which for
// years after 2262 no longer are the true time. A writer can set ModTime, but not ChangeTime.
func (s Stamp) SameFile(other Stamp) bool {
	return s.Ino == other.Ino && s.Size == other.Size &&
		s.ModTime.UnixNano() == other.ModTime.UnixNano() && s.ChangeTime.UnixNano() == other.ChangeTime.UnixNano()
}

// ReadRequest reads an entry as Read does and also returns the Reading to remember. The reading has no content if err
// means that the entry may be whole, or readable, at the next look.
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

// StillHolds reports whether the request that was read under a name is still there. The content decides: by now the
// same request may lie in another file, and a file with the same stamp may hold another request. StillHolds reads the
// file only if its stamp does not settle the question. It looks again if the file changed during the look: a client
// removes a request as soon as it has the response.
func (d *Dir) StillHolds(name string, read Reading, max int64) (holds bool, err error) {
	for range 3 {
		holds, err = d.holds(name, read, max)
		if !errors.Is(err, ErrChanged) {
			break
		}
	}
	return holds, err
}

func (d *Dir) holds(name string, read Reading, max int64) (bool, error) {
	now, err := d.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whether %s is still there: %w", QuoteName(name), err)
	case read.Unchanged(now):
		return true, nil
	case read.Content == "": // an earlier version read it and noted only its stamp
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

// firm reports whether a stamp was older than Grain at the given time. It uses only the time of the last change,
// because no writer can set it, and the clock of the file system, which may be another machine's clock. A time ahead of
// the file system's clock never counts as old.
func (d *Dir) firm(s Stamp, at time.Time) bool {
	behind, known := d.clock.behind()
	return known && at.Sub(s.ChangeTime)-behind >= Grain
}

// noteClock compares the file system's clock with ours, by means of a file that we have just changed.
func (d *Dir) noteClock(changed *os.File) {
	var st unix.Stat_t
	if unix.Fstat(int(changed.Fd()), &st) == nil {
		d.clock.note(time.Since(stampOf(&st).ChangeTime))
	}
}
