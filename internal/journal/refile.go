package journal

import (
	"context"

	"torno/delegation"
)

// Refile notes what a run's request was when it was last read: its client wrote the same request again, or the stamp has become
// old enough to be believed. It is ErrMoved
// when the run has ended and the caller thinks otherwise, or the other way round: the answer of an ended run must look at
// the new file, and one that has not ended is answered later.
func (j *Journal) Refile(ctx context.Context, key string, read delegation.Reading, ended bool) error {
	return j.update(ctx, "note another file of", key, withKernel, refile, inodeColumn{&read.Stamp.Ino},
		stampColumn{&read.Stamp.ModTime}, stampColumn{&read.Stamp.ChangeTime}, read.Stamp.Size, rawColumn{&read.Content}, read.Firm, key, ended)
}

const refile = `UPDATE runs SET ino = ?, mtime = ?, ctime = ?, size = ?, content = ?, firm = ? WHERE key = ? AND (state = 'ended') = ?`
