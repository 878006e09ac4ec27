package journal

import (
	"context"

	"torno/delegation"
)

// Refile notes that a run's request lies in another file now: its client wrote the same request again. It is ErrMoved
// when the run has ended and the caller thinks otherwise, or the other way round: the answer of an ended run must look at
// the new file, and one that has not ended is answered later.
func (j *Journal) Refile(ctx context.Context, key string, stamp delegation.Stamp, ended bool) error {
	return j.update(ctx, "note another file of", key, withKernel, refile, inodeColumn{&stamp.Ino}, stampColumn{&stamp.ModTime},
		stampColumn{&stamp.ChangeTime}, stamp.Size, key, ended)
}

const refile = `UPDATE runs SET ino = ?, mtime = ?, ctime = ?, size = ? WHERE key = ? AND (state = 'ended') = ?`
